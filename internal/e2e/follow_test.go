package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/client"
)

// TestFollowAcrossDeath: a client that follows the journal and an agent's turn sees every event once, and every piece of
// text once, although the daemon is killed in the middle of both.
func TestFollowAcrossDeath(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	w.create(substrat.NewAgent{Name: "a"})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := client.New(filepath.Join(w.home, "daemon.sock"))

	seqs := make(chan int64, 1000)
	text := make(chan string, 1)
	go func() {
		defer close(seqs)
		for ev, err := range c.Events(ctx, 0, true) {
			if err != nil {
				return
			}
			seqs <- ev.Seq
			if ev.Type == "turn.ended" {
				return
			}
		}
	}()
	go func() {
		var b strings.Builder
		for item, err := range c.Stream(ctx, "a", client.StreamPos{}) {
			if err != nil || item.Ended != nil {
				break
			}
			if item.Event != nil && item.Event.Type == agentcli.EventText {
				b.WriteString(item.Event.Text)
			}
		}
		text <- b.String()
	}()

	id := w.send("a", script(step{"text": "before. "}, step{"shell": "echo between"}, step{"sleep_ms": 1500}, step{"text": "after."}))
	w.turnOf("a")
	w.kill()
	w.start()
	if r := w.wait(id); r.Turn.Text != "before. after." || r.Message.Attempts != 1 {
		t.Errorf("the turn said %q in attempt %d", r.Turn.Text, r.Message.Attempts)
	}
	want := int64(1)
	for seq := range seqs {
		if seq != want {
			t.Fatalf("event %d came, want %d", seq, want)
		}
		want++
	}
	select {
	case got := <-text:
		if got != "before. after." {
			t.Errorf("the stream said %q", got)
		}
	case <-time.After(patience):
		t.Error("the stream did not end")
	}
	w.check()
}

// TestTwoHomes: F26. Daemons of two homes do not know each other, and one home's path may be of any length.
func TestTwoHomes(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	long := newWorld(t)
	long.home = filepath.Join(long.dir, strings.Repeat("a-long-name-", 8), strings.Repeat("b", 60), "home")
	other := newWorld(t)
	for _, w := range []*world{other, long} {
		w.http = nil
		c := client.New(filepath.Join(w.home, "daemon.sock"))
		w.launch()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.until("the daemon to answer", func() bool { _, err := c.Status(ctx); return err == nil })
		if _, err := c.CreateAgent(ctx, substrat.NewAgent{Name: "same"}); err != nil {
			t.Fatal(err)
		}
		sent, err := c.Send(ctx, "same", script(step{"mcp": "list_children", "args": step{}}, step{"text": "hello"}))
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Receipt(ctx, sent.MessageID)
		if err != nil || r.Turn == nil || r.Turn.Text != "hello" || r.Turn.ToolCalls < 1 {
			t.Errorf("%v %+v", err, r.Turn)
		}
		if err := c.Shutdown(ctx, "leave"); err != nil {
			t.Error(err)
		}
		<-w.exited
		w.daemon = nil
	}
}
