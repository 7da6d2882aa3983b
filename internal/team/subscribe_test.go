package team

import (
	"fmt"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// prompts takes turns until nobody is ready, and gives what one agent was told.
func (st *story) prompts(agent string) (text string) {
	st.t.Helper()
	for range 50 {
		ready := st.s.ReadyAgents(st.now)
		if len(ready) == 0 {
			return text
		}
		a, prompt := st.turn(ready[0].Agent, st.id())
		if a.Agent == agent {
			text += prompt + "\n"
		}
		st.end(a, substrat.Completed, "ok")
	}
	st.t.Fatal("they do not come to rest")
	return text
}

func TestSubscriptions(t *testing.T) {
	st := tell(t)
	lead := operator("lead")
	once := decoded[Subscribed](st, st.must(lead, Subscribe{ID: "s1", Name: "coder", Transition: "busy->idle", Once: true})).SubscriptionID
	st.must(lead, Subscribe{ID: "s2", Name: "coder", Transition: "*->terminated"})
	if again := decoded[Subscribed](st, st.must(lead, Subscribe{ID: "s3", Name: "coder", Transition: " busy -> idle ", Once: true})); again.SubscriptionID != once {
		t.Errorf("the same subscription is another: %+v", again)
	}
	st.refused(lead, Subscribe{ID: "s4", Name: "coder", Transition: "busy->happy"}, substrat.CodeInvalid, "not a transition")
	st.refused(lead, Subscribe{ID: "s4", Name: "nobody", Transition: "*->*"}, substrat.CodeUnreachable, "nobody")
	st.refused(lead, Unsubscribe{ID: "nonsense"}, substrat.CodeNotFound, "nonsense")
	st.restart(true)
	for range 2 {
		st.tellAgent("coder", st.id())
		st.prompts("")
	}
	st.says(fmt.Sprint(st.s.Agents["lead"].Heard), "[state] coder: busy -> idle")
	if n := len(st.s.Agents["lead"].Subscriptions); n != 1 {
		t.Errorf("%d subscriptions are left", n)
	}
	st.must(user, Terminate{Agent: "coder", Reason: "enough"})
	st.says(st.prompts("lead"), "[state] coder: idle -> terminated")
	if n := len(st.s.Agents["lead"].Subscriptions); n != 0 {
		t.Errorf("%d subscriptions are left to an agent that has ended", n)
	}
}

// TestWatchersDoNotWakeEachOtherForEver: two agents that watch each other come to rest by the limit of chains.
func TestWatchersDoNotWakeEachOtherForEver(t *testing.T) {
	st := tell(t)
	st.lim.Hops = 6
	for _, x := range [][2]string{{"coder", "critic"}, {"critic", "coder"}} {
		st.must(operator(x[0]), Subscribe{ID: "s-" + x[0], Name: x[1], Transition: "busy->idle"})
	}
	st.tellAgent("coder", "go")
	st.prompts("")
	if n := st.s.Agents["coder"].Turns + st.s.Agents["critic"].Turns; n < 4 || n > 12 {
		t.Errorf("they took %d turns", n)
	}
}

func TestReminders(t *testing.T) {
	st := tell(t)
	coder := operator("coder")
	st.must(coder, Remind{ID: "r1", Reason: "look once", After: time.Minute})
	st.must(coder, Remind{ID: "r2", Reason: "look often", After: time.Minute, Every: time.Hour})
	st.must(user, Remind{ID: "r3", Agent: "critic", Reason: "from above", After: time.Minute})
	st.refused(coder, Remind{ID: "r4", Reason: " ", After: time.Minute}, substrat.CodeInvalid, "reason")
	st.refused(coder, Remind{ID: "r4", Reason: "x", After: time.Minute, Every: time.Second}, substrat.CodeInvalid, "cannot repeat")
	st.refused(coder, CancelReminder{ID: "r9"}, substrat.CodeNotFound, "r9")
	st.must(user, Expire{})
	st.ready()
	st.restart(false)
	// Nothing ran for three hours and a half: each comes once, and the next time is in the future.
	st.now = st.now.Add(3*time.Hour + 31*time.Minute)
	st.must(user, Expire{})
	text := st.prompts("coder")
	st.says(text, "Reminder: look once", "Reminder: look often", "while nothing ran")
	if r := st.s.Agents["coder"].Reminders; len(r) != 1 || r[0].ID != "r2" || !r[0].At.After(st.now) || r[0].At.Sub(st.now) > time.Hour {
		t.Errorf("reminders: %+v", r)
	}
	st.says(fmt.Sprint(st.s.Agents["critic"].Heard), "from above")
	st.must(coder, CancelReminder{ID: "r2"})
	st.must(user, Expire{})
	st.ready()
}
