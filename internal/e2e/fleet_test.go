package e2e

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// TestFleet: many sessions over few processes. Ten teams share eight slots and write to each other until every receipt is
// final; the daemon stays small. In the long suite it is 500 agents and 5,000 messages.
func TestFleet(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	agents, messages := 4, 200
	if os.Getenv("SOAK") != "" {
		agents, messages = 49, 5000
	}
	w := newWorld(t, "--slots", "8")
	w.start()
	const teams = 10
	for i := range teams {
		w.create(substrat.NewAgent{Name: fmt.Sprintf("team%d", i)})
		for j := range agents {
			w.create(substrat.NewAgent{Name: fmt.Sprintf("a%d", j), Parent: fmt.Sprintf("team%d", i)})
		}
	}
	began, r, most := time.Now(), seed(t), int64(0)
	done, watched := make(chan struct{}), sync.WaitGroup{}
	watched.Go(func() {
		for {
			most = max(most, rssOf(t, w.daemon.Process.Pid))
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	// Each message of the user's makes one of an agent's, and every other one a reply to that.
	for i := 0; i < messages*2/5; i++ {
		team, from, to := r.IntN(teams), r.IntN(agents), r.IntN(agents)
		if from == to {
			to = (to + 1) % agents
		}
		w.send(fmt.Sprintf("team%d/a%d", team, from), script(
			step{"mcp": "send_message", "args": step{"recipient": fmt.Sprintf("a%d", to), "text": fmt.Sprintf("note %d", i), "sync": i%2 == 0}},
			step{"text": "said"}))
	}
	deadline := time.Now().Add(8 * time.Minute)
	for busy := true; busy; {
		if time.Now().After(deadline) {
			t.Fatal("it does not end")
		}
		busy = false
		for _, a := range w.agents() {
			busy = busy || a.State != substrat.Idle || a.Pending > 0
		}
		if busy {
			time.Sleep(100 * time.Millisecond)
		}
	}
	close(done)
	watched.Wait()
	all, kinds := w.messages(), map[substrat.MessageKind]int{}
	for _, m := range all {
		kinds[m.Kind]++
		if !m.State.Final() {
			t.Errorf("message %s is %s", m.ID, m.State)
		}
		if m.State == substrat.Dead || m.State == substrat.Expired {
			t.Errorf("message %s is %s: %s", m.ID, m.State, m.Detail)
		}
	}
	turns := 0
	for _, a := range w.agents() {
		turns += a.Turns
	}
	t.Logf("%d agents, %d messages (%v), %d turns in %v, the daemon took %d MB at most", teams*(agents+1), len(all), kinds, turns,
		time.Since(began).Round(time.Millisecond), most>>20)
	limit := int64(100 << 20)
	if raceEnabled {
		limit *= 8
	}
	if most > limit {
		t.Errorf("the daemon grew to %d MB", most>>20)
	}
	w.checkRecord()
	w.checkProcesses()
}
