package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// events reads the whole journal over the API.
func (w *world) events() []substrat.Event {
	w.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://substrat/v1/events?after=0&follow=false", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	var out []substrat.Event
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var ev substrat.Event
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, ev)
	}
	if err := lines.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// messages lists every message with its receipt.
func (w *world) messages() []substrat.Message {
	w.t.Helper()
	var all []substrat.Message
	after := ""
	for {
		var page struct {
			Messages []substrat.Message `json:"messages"`
			Next     string             `json:"next"`
		}
		if err := w.get("/v1/messages?limit=1000&after="+after, &page); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, page.Messages...)
		if page.Next == "" {
			return all
		}
		after = page.Next
	}
}

func (w *world) agents() []substrat.Agent {
	w.t.Helper()
	var list struct {
		Agents []substrat.Agent `json:"agents"`
	}
	if err := w.get("/v1/agents", &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Agents
}

// settle waits until no turn is open and nobody's mail waits for one.
func (w *world) settle() {
	w.t.Helper()
	w.until("everything to settle", func() bool {
		return !slices.ContainsFunc(w.agents(), func(a substrat.Agent) bool {
			return a.State == substrat.Busy || a.Pending > 0 && a.State != substrat.Waiting || a.RetryAt != nil
		})
	})
}

// check is the one checker. It settles first and leaves every agent with one more turn.
func (w *world) check() {
	w.t.Helper()
	w.settle()
	w.checkRecord()
	w.checkProcesses()
	for _, a := range w.agents() {
		id := w.send(a.Path, "Are you still there?")
		if r := w.wait(id); r.Message.State != substrat.Handled {
			w.t.Errorf("a new turn on %s does not work: its message is %s (%s)", a.Path, r.Message.State, r.Message.Detail)
		}
	}
	w.settle()
	w.checkRecord()
	w.checkProcesses()
}

// checkRecord reads the journal: every acknowledged message is in it once, handled by one completed turn at most, and
// final; every turn has one outcome.
func (w *world) checkRecord() {
	w.t.Helper()
	sent, handled, outcomes, started := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for i, ev := range w.events() {
		if i > 0 && ev.Seq == 0 {
			w.t.Errorf("event %d has no number", i)
		}
		var data struct {
			Turn    string   `json:"turn"`
			Handled []string `json:"handled"`
			Message json.RawMessage
		}
		if err := json.Unmarshal(ev.Data, &data); err != nil {
			w.t.Fatal(err)
		}
		switch ev.Type {
		case "message.sent":
			var m substrat.Message
			if err := json.Unmarshal(data.Message, &m); err != nil {
				w.t.Fatal(err)
			}
			sent[m.ID]++
		case "turn.started":
			started[data.Turn]++
		case "turn.ended":
			outcomes[data.Turn]++
			for _, id := range data.Handled {
				handled[id]++
			}
		}
	}
	for _, id := range w.acked {
		if sent[id] != 1 {
			w.t.Errorf("message %s was acknowledged and is in the journal %d times", id, sent[id])
		}
	}
	for id, n := range handled {
		if n > 1 {
			w.t.Errorf("message %s was handled %d times", id, n)
		}
	}
	for id, n := range started {
		if n != 1 || outcomes[id] > 1 {
			w.t.Errorf("turn %s was started %d times and has %d outcomes", id, n, outcomes[id])
		}
	}
	seen := map[string]int{}
	for _, m := range w.messages() {
		if seen[m.ID]++; seen[m.ID] > 1 {
			w.t.Errorf("message %s is listed %d times", m.ID, seen[m.ID])
		}
		if !m.State.Final() && m.Kind != substrat.KindNotification && m.Kind != substrat.KindError {
			w.t.Errorf("message %s from %s to %s is still %s", m.ID, m.From, m.To, m.State)
		}
	}
	for id := range sent {
		if seen[id] == 0 {
			w.t.Errorf("message %s is in the journal and in no listing", id)
		}
	}
}

// checkProcesses looks for processes of turns, which are over, and for zombies of the daemon.
func (w *world) checkProcesses() {
	w.t.Helper()
	w.until("the processes of the turns to be gone", func() bool { return len(w.living()) == 0 })
}
