package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"substrat.dev/substrat"
)

// TestScriptedFailpoints: the daemon ends at its Nth journal write, for every N until two turns of a program are over. What the
// program does happens once, and no process is left, wherever between the record and the journal that was.
func TestScriptedFailpoints(t *testing.T) {
	needSandbox(t)
	t.Parallel()
	bin := binary(t, "failpoint")
	for n := 1; ; n++ {
		w := newWorldOf(t, bin, []string{fmt.Sprintf("SUBSTRAT_FAILPOINT=journal:%d", n)})
		w.launch()
		gone := func() bool {
			select {
			case <-w.exited:
				return true
			default:
				return false
			}
		}
		w.until("the daemon to answer or end", func() bool { return gone() || w.get("/v1/status", nil) == nil })
		w.tellScript(gone)
		hit := gone()
		if !hit {
			_ = w.post("/v1/shutdown", map[string]string{"mode": "leave"}, nil)
		}
		<-w.exited
		w.daemon, w.env = nil, nil
		w.start()
		w.settle() // a message that becomes final while they are listed is not in the list
		sent := w.tellScript(func() bool { return false })
		told := w.told("pipe")
		if len(told) != 3*sent || slices.Max(append(slices.Collect(maps.Values(told)), 1)) != 1 {
			t.Errorf("%d messages were acknowledged, and USER was told %v", sent, told)
		}
		w.settle()
		w.checkRecord()
		w.close()
		if t.Failed() {
			t.Fatalf("SUBSTRAT_FAILPOINT=journal:%d", n)
		}
		if !hit {
			t.Logf("%d failpoints", n-1)
			return
		}
	}
}

// tellScript sends a program two messages, those that are not there yet, and waits until they are handled or stop says so. It
// tells how many there are.
func (w *world) tellScript(stop func() bool) int {
	w.t.Helper()
	if stop() {
		return 0
	}
	command, dir := w.programFiles("pipe", "busy.py")
	_ = w.post("/v1/agents", substrat.NewAgent{Name: "pipe", Provider: "scripted", Dir: dir, Command: command}, nil)
	if !stop() {
		for _, text := range []string{"m1", "m2"} {
			if !slices.ContainsFunc(w.sentTo(stop), func(m substrat.Message) bool { return m.Text == text }) {
				_, _ = w.trySend("pipe", text)
			}
		}
	}
	n := 0
	w.until("both messages to be handled", func() bool {
		if stop() {
			return true
		}
		list := w.sentTo(stop)
		n = len(list)
		return n == 2 && !slices.ContainsFunc(list, func(m substrat.Message) bool { return m.State != substrat.Handled })
	})
	return n
}

// sentTo lists what USER sent to the program, nothing if the daemon does not answer.
func (w *world) sentTo(stop func() bool) []substrat.Message {
	var page struct {
		Messages []substrat.Message `json:"messages"`
	}
	if stop() || w.get("/v1/messages?agent=pipe", &page) != nil {
		return nil
	}
	return slices.DeleteFunc(page.Messages, func(m substrat.Message) bool { return m.To != "pipe" })
}
