package team

import (
	"testing"
	"time"

	"substrat.dev/substrat"
)

// A repeated call is answered, not done again, as long as its turn is open.
func TestRepeatedCallIsDoneOnce(t *testing.T) {
	for name, restart := range map[string]func(*story){
		"live":     func(*story) {},
		"journal":  func(st *story) { st.restart(false) },
		"snapshot": func(st *story) { st.restart(true) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []Command{
				Send{ID: "m", Recipient: "critic", Text: "hi", Sync: true},
				SendAll{ID: "b", Text: "hi"},
				Create{ID: "h", Name: "h"},
				Take{},
				Complete{Result: "done <&> \u2028"},
				Send{ID: "r", Recipient: "lead", Text: "answer", ReplyTo: "m1"},
			} {
				st := tell(t)
				st.asking("m1")
				coder, _ := st.turn("coder", "t1")
				st.must(operator("lead"), Send{ID: "n", Recipient: "coder", Text: "fyi"})
				entries, answer, err := st.do(coder, "t1/relay/7", c)
				if err != nil || len(entries) == 0 {
					t.Fatalf("%T: %d entries, %v", c, len(entries), err)
				}
				restart(st)
				again, same, err := st.do(coder, "t1/relay/7", c)
				if err != nil || len(again) != 0 || same != answer {
					t.Errorf("%T again: %d entries, %s, %v; want none, %s", c, len(again), same, err, answer)
				}
			}
		})
	}
}

func TestKeysAreOfTheirTurn(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	send := func(a Actor, key, id string) int {
		entries, _, err := st.do(a, key, Send{ID: id, Recipient: "lead", Text: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if send(coder, "t1/1", "a") != 1 || send(coder, "t1/2", "b") != 1 || send(coder, "t1/1", "c") != 0 {
		t.Error("another call of the turn is not told apart")
	}
	st.end(coder, substrat.Completed, "")
	coder = st.busy("coder", "t2")
	critic := st.busy("critic", "t3")
	if send(coder, "t2/1", "d") != 1 || send(critic, "t3/1", "e") != 1 {
		t.Error("another turn's calls are not told apart")
	}
	if send(coder, "", "f") != 1 || send(coder, "", "g") != 1 {
		t.Error("calls without a key are taken for one")
	}
}

func TestRefusedCallCanBeTriedAgain(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	if _, _, err := st.do(coder, "t1/1", Send{ID: "m", Recipient: "h", Text: "hi"}); err == nil {
		t.Fatal("sent to nobody")
	}
	st.must(coder, Create{ID: "h", Name: "h"})
	if entries, _, err := st.do(coder, "t1/1", Send{ID: "m", Recipient: "h", Text: "hi"}); err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

func TestStaleCallersAreRefused(t *testing.T) {
	st := tell(t)
	old := st.busy("coder", "t1")
	st.end(old, substrat.Completed, "")
	for _, c := range []Command{Send{ID: "x", Recipient: "lead", Text: "hi"}, SendAll{ID: "x", Text: "hi"}, Take{}, Create{ID: "x", Name: "x"}, Complete{Result: "x"}} {
		st.refused(old, c, substrat.CodeForbidden, "the turn this call belongs to is over")
		st.refused(Actor{Agent: "gone", Turn: "t1"}, c, substrat.CodeTerminated, "the agent has ended")
		st.refused(Actor{Agent: "gone", Operator: true}, c, substrat.CodeTerminated, "the agent has ended")
	}
	st.busy("coder", "t2")
	st.refused(old, Take{}, substrat.CodeForbidden, "is over")
	st.refused(Actor{Agent: "coder"}, Take{}, substrat.CodeForbidden, "is over")
	st.refused(Actor{Agent: "critic", Turn: "t2"}, Take{}, substrat.CodeForbidden, "is over")
}

// The journal says who it was: a person, an agent, a person as an agent, or the daemon itself.
func TestJournalNamesTheActor(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	st.must(operator("coder"), Send{ID: "o", Recipient: "lead", Text: "hi"})
	st.must(coder, Send{ID: "m", Recipient: "critic", Text: "hi", Sync: true})
	st.must(user, Bind{Agent: "coder", Session: "s"})
	st.must(user, Cancel{Agent: "coder"})
	st.end(coder, substrat.Completed, "")
	st.now = st.now.Add(st.lim.ReplyDeadline)
	st.must(user, Expire{})
	want := map[string]string{
		"agent.created": substrat.User, "turn.started": substrat.System, "session.bound": substrat.System, "turn.cancel_asked": substrat.User,
		"turn.ended": substrat.System, "message.expired": substrat.System,
	}
	for _, ev := range st.journal {
		if w, ok := want[ev.Type]; ok && ev.Actor != w {
			t.Errorf("%s is by %q, want %q", ev.Type, ev.Actor, w)
		}
		delete(want, ev.Type)
	}
	if len(want) > 0 {
		t.Errorf("not in the journal: %v", want)
	}
	by := map[string]string{"o": "operator as lead/coder", "m": "lead/coder", "wake-t1": substrat.User, derive("m", "expired"): substrat.System}
	for _, ev := range st.journal {
		if e, err := ParseEvent(ev); err == nil {
			if m, ok := e.Fact.(*MessageSent); ok && by[m.Message.ID] != ev.Actor {
				t.Errorf("message %s is by %q, want %q", m.Message.ID, ev.Actor, by[m.Message.ID])
			}
		}
	}
}

// The journal holds wall time in UTC; what is folded live must not hold more than that.
func TestTimesSurviveTheJournal(t *testing.T) {
	st := tell(t)
	st.now = time.Now().In(time.FixedZone("far", 3600))
	st.asking("m1")
	coder, _ := st.turn("coder", "t1")
	st.end(coder, substrat.FailedTurn, "broke")
	at := st.s.Agents["coder"].RetryAt
	if at.Location() != time.UTC || at != at.Round(0) {
		t.Errorf("retry at %v", at)
	}
	st.restart(false)
	st.restart(true)
}

func TestDerivedIDs(t *testing.T) {
	a, b := derive("x", "reply"), derive("x", "refused")
	if a == b || a != derive("x", "reply") || derive("xr", "eply") == a {
		t.Error("derived ids are not those of their parts")
	}
	if !uuidForm.MatchString(a) || a[14] != '8' {
		t.Errorf("%s is no UUID of version 8", a)
	}
}
