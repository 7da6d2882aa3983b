package team

import (
	"testing"

	"substrat.dev/substrat"
)

// casting lets the lead ask coder, critic and a third, and ends its turn.
func casting(t *testing.T) *story {
	st := tell(t)
	st.must(user, Create{ID: "third", Name: "third", Parent: "lead"})
	lead := st.busy("lead", "t1")
	got := decoded[SentAll](st, st.must(lead, SendAll{ID: "b1", Text: "who?", To: "children"}))
	if got != (SentAll{Status: "sent", MessageID: "b1", RecipientCount: 3}) {
		t.Errorf("answer %+v", got)
	}
	st.end(lead, substrat.Completed, "asked all")
	return st
}

func (st *story) answers(agents ...string) {
	st.t.Helper()
	for _, id := range agents {
		a, _ := st.turn(id, "b-"+id)
		st.end(a, substrat.Completed, "I, "+id)
	}
}

func TestBroadcastAllAnswer(t *testing.T) {
	st := casting(t)
	st.answers("coder")
	lead, prompt := st.turn("lead", "t2")
	if prompt != "Reply from coder (to message "+derive("b1", "coder")+"):\nI, coder" {
		t.Errorf("replies come one by one: %q", prompt)
	}
	st.end(lead, substrat.Completed, "")
	st.state("lead", substrat.Waiting)
	st.answers("third", "critic")
	if len(st.s.Broadcasts) != 0 {
		t.Error("the broadcast is still open")
	}
	_, prompt = st.turn("lead", "t3")
	st.says(prompt, "I, third", "I, critic", "3 of 3 answered", "Answered: lead/coder, lead/third, lead/critic")
	st.quiet(prompt, "Did not answer")
}

func TestBroadcastSomeExpire(t *testing.T) {
	st := casting(t)
	st.answers("critic")
	st.restart(true)
	st.now = st.now.Add(st.lim.ReplyDeadline)
	st.must(user, Expire{})
	_, prompt := st.turn("lead", "t2")
	st.says(prompt, "I, critic", "No reply from coder", "No reply from third", "1 of 3 answered", "Did not answer: lead/coder, lead/third")
	for _, id := range []string{"coder", "third"} {
		st.became(derive("b1", id), substrat.Expired)
		st.queue(id)
	}
	if st.s.Overdue(st.now.Add(1e15)) {
		t.Error("something is still due")
	}
}

func TestBroadcastSomeAreTerminatedOrFail(t *testing.T) {
	st := casting(t)
	st.lim.Attempts = 1
	st.must(user, Terminate{Agent: "critic"})
	coder, _ := st.turn("coder", "t2")
	st.end(coder, substrat.FailedTurn, "broke")
	third, _ := st.turn("third", "t3")
	st.must(user, Cancel{Agent: "third"})
	st.end(third, substrat.Cancelled, "")
	_, prompt := st.turn("lead", "t4")
	st.says(prompt, "message "+derive("b1", "critic")+": it was terminated", "its turn failed (agent_error: broke)", "its turn was cancelled",
		"0 of 3 answered", "Did not answer: lead/critic, lead/coder, lead/third")
}

// Several requests of one broadcast can be settled by one command; the summary comes once and counts them all.
func TestBroadcastSettledByOneCommand(t *testing.T) {
	st := tell(t)
	for _, n := range []string{"a", "b"} {
		st.must(user, Create{ID: n, Name: n, Parent: "coder"})
	}
	coder := st.busy("coder", "t1")
	st.must(coder, SendAll{ID: "b1", Text: "who?", To: "children"})
	st.end(coder, substrat.Completed, "")
	st.now = st.now.Add(st.lim.ReplyDeadline)
	entries, _, err := st.do(user, "", Expire{})
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	for _, e := range entries {
		if _, ok := e.Fact.(*BroadcastClosed); ok {
			closed++
		}
	}
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
	_, prompt := st.turn("coder", "t2")
	st.says(prompt, "0 of 2 answered")
}

func TestBroadcastEndsWithItsSender(t *testing.T) {
	for name, whole := range map[string]string{"alone": "coder", "with all it asked": "lead"} {
		t.Run(name, func(t *testing.T) {
			st := tell(t)
			coder := st.busy("coder", "t1")
			st.must(coder, SendAll{ID: "b1", Text: "who?"})
			st.end(coder, substrat.Completed, "")
			st.must(user, Terminate{Agent: whole})
			if len(st.s.Broadcasts) != 0 {
				t.Errorf("%d broadcasts are left", len(st.s.Broadcasts))
			}
			if whole == "lead" {
				st.became(derive("b1", "critic"), substrat.Dead)
				return
			}
			critic, prompt := st.turn("critic", "t2")
			st.says(prompt, "coder (who has ended since and waits for no reply):\nwho?")
			st.end(critic, substrat.Completed, "me")
			st.became(derive("b1", "critic"), substrat.Handled)
		})
	}
}

func TestBroadcastAddressees(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	st.refused(coder, SendAll{ID: "x", Text: "hi", To: "everybody"}, substrat.CodeInvalid, `"siblings" or "children"`)
	st.refused(user, SendAll{ID: "x", Text: "hi"}, substrat.CodeForbidden, "only an agent")
	st.refused(coder, SendAll{Text: "hi"}, substrat.CodeInternal, "id is in use")
	if got := decoded[SentAll](st, st.must(coder, SendAll{ID: "b0", Text: "hi", To: "children"})); got.RecipientCount != 0 {
		t.Errorf("%d children", got.RecipientCount)
	}
	if got := decoded[SentAll](st, st.must(coder, SendAll{ID: "b1", Text: "hi"})); got.RecipientCount != 1 {
		t.Errorf("%d siblings", got.RecipientCount)
	}
	st.refused(coder, SendAll{ID: "b1", Text: "hi"}, substrat.CodeInternal, "id is in use")
	st.queue("critic", derive("b1", "critic"))
	st.queue("lead")
	if got := decoded[SentAll](st, st.must(st.busy("lead", "t2"), SendAll{ID: "b2", Text: "hi"})); got.RecipientCount != 0 {
		t.Errorf("a root has %d siblings", got.RecipientCount)
	}
}
