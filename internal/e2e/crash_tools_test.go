package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// anyTool is a call of one of the agents' tools, with names and values that may or may not fit: a refusal is an answer too.
func anyTool(r *rand.Rand, names []string, i int) step {
	name := names[r.IntN(len(names))]
	call := func(tool string, args step) step { return step{"mcp": tool, "args": args} }
	calls := []func() step{
		func() step { return call("send_message", step{"recipient": name, "text": fmt.Sprintf("tool %d", i)}) },
		func() step { return call("broadcast", step{"text": fmt.Sprintf("all %d", i)}) },
		func() step { return call("check_inbox", step{}) },
		func() step { return call("list_children", step{}) },
		func() step { return call("inspect_agent", step{"name": name}) },
		func() step {
			return call("spawn_agent", step{"name": fmt.Sprintf("kid%d", i), "instructions": "Be done. " + script(call("complete", step{"result": "done"}), step{"text": "x"})})
		},
		func() step {
			return call("set_agent_metadata", step{"name": fmt.Sprintf("kid%d", i-1), "key": "k", "value": fmt.Sprint(i)})
		},
		func() step {
			return call("subscribe", step{"name": name, "transition": []string{"busy->idle", "*->terminated"}[i%2], "once": i%2 == 0})
		},
		func() step { return call("remind_me", step{"reason": fmt.Sprintf("reminder %d", i), "after_s": 1}) },
		func() step {
			return call("ask_user", step{"question": fmt.Sprintf("question %d", i), "options": []string{"yes", "no"}})
		},
		func() step { return call("create_workspace", step{"name": fmt.Sprintf("w%d", i)}) },
		func() step {
			return call("link_from", step{"source": fmt.Sprintf("w%d", i-1), "target_dir": "in", "workspace": fmt.Sprintf("w%d", i-2)})
		},
		func() step { return call("delete_workspace", step{"name": fmt.Sprintf("w%d", i-3)}) },
		func() step { return call("list_workspaces", step{}) },
		func() step { return call("gate", step{"name": fmt.Sprintf("kid%d", i-1)}) },
		func() step { return call("permit_turn", step{"name": fmt.Sprintf("kid%d", i-1)}) },
		func() step { return call("ungate", step{"name": fmt.Sprintf("kid%d", i-1)}) },
		func() step { return call("poke", step{"name": fmt.Sprintf("kid%d", i-2)}) },
		func() step {
			return call("terminate_agent", step{"name": fmt.Sprintf("kid%d", i-2), "reason": "enough"})
		},
	}
	return calls[r.IntN(len(calls))]()
}

// TestCrashTools: the daemon is killed again and again while agents use every tool there is. Nothing acknowledged is lost
// or done twice, every question can be answered, every reminder comes once.
func TestCrashTools(t *testing.T) {
	needSandbox(t)
	w := newWorld(t, "--slots", "6")
	w.start()
	c, r := newCrowd(w, 6), seed(t)
	kills, sent := 0, 0
	for until := time.Now().Add(soak(t)); kills < 12 || time.Now().Before(until); {
		for range 6 {
			var steps []any
			for range 1 + r.IntN(4) {
				steps = append(steps, anyTool(r, c.names, sent))
			}
			if _, err := w.trySend("root/"+c.names[r.IntN(len(c.names))], script(append(steps, step{"text": "used them"})...)); err == nil {
				sent++
			}
		}
		time.Sleep(time.Duration(r.IntN(250)) * time.Millisecond)
		w.kill()
		kills++
		w.start()
	}
	w.drain()
	for _, id := range w.acked {
		if m, err := w.message(id); err != nil || m.State != substrat.Handled {
			t.Errorf("message %s: %s %v", id, m.State, err)
		}
	}
	w.checkDoneOnce()
	t.Logf("%d messages acknowledged, %d kills", len(w.acked), kills)
	w.drain()
	w.checkRecord()
	w.checkProcesses()
}

// drain lifts gates and answers questions until there is nothing left to do.
func (w *world) drain() {
	w.t.Helper()
	w.until("everything to come to an end", func() bool {
		var queue struct{ Items []substrat.Item }
		if err := w.get("/v1/queue", &queue); err != nil {
			w.t.Fatal(err)
		}
		for _, x := range queue.Items {
			answer := substrat.Answer{Choices: x.Options[:1]}
			if x.Kind == substrat.ItemFailure {
				answer.Choices = []string{"dismiss"}
			}
			// It may have been withdrawn meanwhile.
			_ = w.post("/v1/queue/"+x.ID, answer, nil)
		}
		rest := true
		for _, a := range w.agents() {
			ref := "/v1/agents/" + a.ID
			var reminders struct{ Reminders []substrat.Reminder }
			if w.get(ref+"/reminders", &reminders) == nil && len(reminders.Reminders) > 0 {
				rest = false
			}
			if a.Gated {
				_ = w.post(ref+"/gate", map[string]bool{"down": false}, nil)
			}
			rest = rest && a.State == substrat.Idle && a.Pending == 0 && a.RetryAt == nil
		}
		return rest && len(queue.Items) == 0
	})
}

// checkDoneOnce: no call was carried out twice, and no reminder came twice.
func (w *world) checkDoneOnce() {
	w.t.Helper()
	keys, texts := map[string]int{}, map[string]int{}
	for _, ev := range w.events() {
		if ev.Key != "" {
			if keys[ev.Key]++; keys[ev.Key] > 1 {
				w.t.Errorf("the call %s was carried out %d times", ev.Key, keys[ev.Key])
			}
		}
		if ev.Type == "reminder.fired" {
			texts[string(ev.Data)]++
		}
	}
	for text, n := range texts {
		if n > 1 {
			w.t.Errorf("a reminder came %d times: %s", n, text)
		}
	}
	for _, m := range w.messages() {
		if m.Kind == substrat.KindReminder && !strings.HasPrefix(m.Text, "Reminder: reminder ") {
			w.t.Errorf("a strange reminder: %s", m.Text)
		}
	}
}
