package e2e

import (
	"strings"
	"testing"

	"substrat.dev/substrat"
)

// held waits until a message is in its mailbox and its agent waits for the provider's account.
func (w *world) held(path, id string, class substrat.FailureClass) {
	w.t.Helper()
	w.until(path+" to wait for the account", func() bool {
		var why substrat.Why
		if err := w.get("/v1/agents/"+strings.ReplaceAll(path, "/", "%2F")+"/why", &why); err != nil {
			w.t.Fatal(err)
		}
		m, err := w.message(id)
		return err == nil && m.State == substrat.Queued && len(why.Reasons) > 0 && why.Reasons[0].Kind == substrat.WaitsAccount &&
			why.Reasons[0].On == "sim" && strings.Contains(why.Reasons[0].Text, string(class))
	})
}

// TestFaultAccounts: F33. A provider that refuses the account holds the agents on it and nobody's mail is given up: a
// login until a person resumes, a quota until it ends or a person knows better.
func TestFaultAccounts(t *testing.T) {
	for fault, class := range map[string]substrat.FailureClass{"auth": substrat.ClassAuth, "quota": substrat.ClassQuota} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			needSandbox(t)
			w := newWorld(t)
			w.start()
			// What the lead is told of the failure quotes the script, which a simulator would play.
			w.create(substrat.NewAgent{Name: "lead", Gated: true})
			w.create(substrat.NewAgent{Name: "unlucky", Parent: "lead"})
			w.create(substrat.NewAgent{Name: "other", Parent: "lead"})
			first := w.send("lead/unlucky", script(step{"fault": fault}))
			w.held("lead/unlucky", first, class)
			second := w.send("lead/other", "Are you there?")
			w.held("lead/other", second, class)
			// The hold outlives the daemon.
			w.kill()
			w.start()
			w.held("lead/other", second, class)
			if m, err := w.message(first); err != nil || m.State != substrat.Queued || m.Attempts != 1 {
				t.Errorf("the message that failed: %+v, %v", m, err)
			}
			if err := w.post("/v1/agents/lead%2Funlucky/gate", map[string]bool{"down": true}, nil); err != nil {
				t.Fatal(err)
			}
			if err := w.post("/v1/resume", map[string]string{"account": "sim"}, nil); err != nil {
				t.Fatal(err)
			}
			if r := w.wait(second); r.Message.State != substrat.Handled {
				t.Errorf("after it was resumed: %s (%s)", r.Message.State, r.Message.Detail)
			}
		})
	}
}

// TestFaultNetwork: a network that is down uses up no attempts.
func TestFaultNetwork(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	w.create(substrat.NewAgent{Name: "lead"})
	id := w.send("lead", script(step{"fault": "network"}))
	w.until("a second attempt", func() bool {
		m, err := w.message(id)
		return err == nil && m.Attempts >= 2
	})
	m, err := w.message(id)
	if err != nil || m.State.Final() {
		t.Errorf("the message: %+v, %v", m, err)
	}
}
