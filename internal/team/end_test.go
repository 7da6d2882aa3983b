package team

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
)

func TestCompleteAnswersTheParent(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	if got := st.must(coder, Complete{Result: "all mended"}); got != `{"status":"completing"}` {
		t.Errorf("answer %s", got)
	}
	st.restart(true)
	st.end(coder, substrat.Completed, "closing words")
	if st.s.Agents["coder"] != nil {
		t.Fatal("the coder has not ended")
	}
	st.became("m1", substrat.Answered)
	st.queue("lead", derive("m1", "reply"))
	if _, prompt := st.turn("lead", "t3"); prompt != "Reply from coder (to message m1):\nall mended" {
		t.Errorf("prompt %q", prompt)
	}
	if a := st.agents["coder"]; a.State != substrat.Terminated || a.EndedAt == nil || a.Turn != "" || a.LastError != "completed" || a.Path != "lead/coder" {
		t.Errorf("the record of the coder is %+v", a)
	}
	if got := st.turns["t2"].Outcome; got != substrat.Completed {
		t.Errorf("its turn is %s", got)
	}
}

func TestCompleteUnaskedLeavesAResult(t *testing.T) {
	for name, reply := range map[string]bool{"unasked": false, "answered before": true} {
		t.Run(name, func(t *testing.T) {
			st := tell(t)
			if reply {
				st.asking("m1")
			} else {
				st.tellAgent("coder", "u")
			}
			coder, _ := st.turn("coder", "t2")
			if reply {
				st.must(coder, Send{ID: "r", Recipient: "lead", Text: "soon", ReplyTo: "m1"})
			}
			st.must(coder, Complete{Result: "first thought"})
			st.must(coder, Complete{Result: "all done"})
			st.end(coder, substrat.Completed, "")
			_, prompt := st.turn("lead", "t3")
			st.says(prompt, "Result from coder (it has completed and ended):\nall done")
		})
	}
}

// Others who asked get the turn's text; who asked too late is told.
func TestCompleteSettlesEverybody(t *testing.T) {
	st := tell(t)
	must := func(id string) {
		st.must(operator("critic"), Send{ID: id, Recipient: "coder", Text: "and?", Sync: true})
	}
	must("early")
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	must("late")
	st.tellAgent("coder", "u-late")
	st.must(coder, Complete{Result: "result"})
	st.end(coder, substrat.Completed, "closing words")
	st.queue("lead", derive("m1", "reply"))
	_, prompt := st.turn("critic", "t3")
	st.says(prompt, "Reply from coder (to message early):\nclosing words", "No reply from coder to message late: it completed.")
	st.became("early", substrat.Answered)
	st.became("late", substrat.Dead)
	st.became("u-late", substrat.Dead)
	st.says(st.final["u-late"].Detail, "the recipient ended: completed")
}

func TestCompleteIsRefused(t *testing.T) {
	st := tell(t)
	st.refused(st.busy("lead", "t1"), Complete{Result: "x"}, substrat.CodeForbidden, "you are the root")
	st.refused(user, Complete{Result: "x"}, substrat.CodeForbidden, "only an agent")
	coder := st.busy("coder", "t2")
	st.refused(coder, Complete{Result: ""}, substrat.CodeInvalid, "empty")
	st.must(coder, Create{ID: "h", Name: "h"})
	st.refused(coder, Complete{Result: "x"}, substrat.CodeConflict, "1 agents under you have not ended")
	st.must(user, Terminate{Agent: "h"})
	st.must(coder, Complete{Result: "x"})
}

func TestFailedTurnIsNotCompleting(t *testing.T) {
	for _, outcome := range []substrat.Outcome{substrat.FailedTurn, substrat.Interrupted, substrat.Cancelled, substrat.TimedOut} {
		t.Run(string(outcome), func(t *testing.T) {
			st := tell(t)
			coder := st.busy("coder", "t1")
			st.must(coder, Complete{Result: "all done"})
			st.end(coder, outcome, "broke after all")
			if st.s.Agents["coder"] == nil {
				t.Fatal("it ended all the same")
			}
			st.now = st.now.Add(st.lim.BackoffMax)
			st.tellAgent("coder", "u")
			coder, _ = st.turn("coder", "t2")
			st.end(coder, substrat.Completed, "")
			if st.s.Agents["coder"] == nil {
				t.Error("the next turn ended it")
			}
		})
	}
}

func TestTerminateSubtree(t *testing.T) {
	st := tell(t)
	st.must(user, Create{ID: "h", Name: "h", Parent: "coder"})
	st.must(user, Create{ID: "h2", Name: "h2", Parent: "coder"})
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	st.must(coder, Send{ID: "inside", Recipient: "h", Text: "help", Sync: true})
	st.must(coder, Send{ID: "out", Recipient: "critic", Text: "look", Sync: true})
	h, _ := st.turn("h", "t3")
	st.must(operator("critic"), Send{ID: "late", Recipient: "coder", Text: "and?", Sync: true})
	st.must(operator("h2"), Send{ID: "taken", Recipient: "h", Text: "and?", Sync: true})
	st.must(h, Take{})
	st.must(operator("lead"), Send{ID: "plain", Recipient: "coder", Text: "fyi"})

	if got := st.must(user, Terminate{Agent: "coder", Reason: "enough\xff"}); got != `{"status":"terminated"}` {
		t.Errorf("answer %s", got)
	}
	for _, id := range []string{"m1", "inside", "late", "taken", "plain"} {
		st.became(id, substrat.Dead)
		st.says(st.final[id].Detail, "enough")
	}
	for _, id := range []string{"t2", "t3"} {
		if got := st.turns[id]; got.Outcome != substrat.Cancelled || got.Class != substrat.ClassCancelled || got.Detail != "enough\uFFFD" {
			t.Errorf("turn %s: %+v", id, got)
		}
	}
	if diff := cmp.Diff([]string{"lead", "critic"}, st.s.Walk()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	st.restart(false)
	st.restart(true)
	st.refused(coder, Send{ID: "x", Recipient: "lead", Text: "still here"}, substrat.CodeTerminated, "has ended")
	st.queue("lead", derive("m1", "refused"))
	_, prompt := st.turn("lead", "t4")
	st.says(prompt, "No reply from coder to message m1: it was terminated.")
	critic, prompt := st.turn("critic", "t5")
	st.says(prompt, "No reply from coder to message late: it was terminated.", "coder (who has ended since and waits for no reply):\nlook")
	st.end(critic, substrat.Completed, "seen")
	st.became("out", substrat.Handled)
}

func TestTerminateRecordsNothingThatIsOver(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	coder, _ := st.turn("coder", "t1")
	st.end(coder, substrat.FailedTurn, "broke")
	st.must(operator("coder"), Send{ID: "q", Recipient: "critic", Text: "help", Sync: true})
	st.must(user, Terminate{Agent: "coder"})
	if a := st.agents["coder"]; a.Pending != 0 || a.RetryAt != nil || len(a.WaitingFor) != 0 || a.LastError != "terminated by USER" {
		t.Errorf("the record is %+v", a)
	}
	st.refused(user, Terminate{Agent: "coder"}, substrat.CodeNotFound, "no such agent")
}

func TestTerminateTeam(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	st.must(user, Terminate{Agent: "lead"})
	if len(st.s.Agents)+len(st.s.Messages)+len(st.s.Broadcasts) != 0 || !st.s.Ended() {
		t.Error("something is left")
	}
	st.restart(false)
	st.restart(true)
	st.refused(user, Create{ID: "lead", Name: "lead"}, substrat.CodeInternal, "second root")
}

func TestDeadline(t *testing.T) {
	for name, prepare := range map[string]func(st *story){
		"queued":  func(*story) {},
		"working": func(st *story) { st.turn("coder", "t2") },
		"backing off": func(st *story) {
			a, _ := st.turn("coder", "t2")
			st.end(a, substrat.FailedTurn, "broke")
		},
		"sender busy": func(st *story) { st.busy("lead", "t2") },
	} {
		t.Run(name, func(t *testing.T) {
			st := tell(t)
			st.asking("m1")
			prepare(st)
			st.now = st.now.Add(st.lim.ReplyDeadline - 1)
			if entries, _, err := st.do(user, "", Expire{}); len(entries) > 0 || err != nil || st.s.Overdue(st.now) {
				t.Errorf("expired too early: %v, %v", entries, err)
			}
			st.later()
			if !st.s.Overdue(st.now) {
				t.Error("the request is not overdue")
			}
			st.must(user, Expire{})
			st.restart(true)
			if st.s.Overdue(st.now) || len(st.s.Agents["lead"].Awaits) > 0 {
				t.Error("the lead still waits")
			}
			st.became("m1", substrat.Expired)
			st.says(st.final["m1"].Detail, "no reply within 1h0m0s")
			if a := st.s.Agents["lead"]; a.Turn != nil {
				st.end(Actor{Agent: "lead", Turn: a.Turn.ID}, substrat.Completed, "")
			}
			_, prompt := st.turn("lead", "t9")
			st.says(prompt, "Message from system:\nNo reply from coder to message m1: no reply within 1h0m0s.")
		})
	}
}

func TestOperatorCompletesAnIdleAgent(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	st.must(operator("coder"), Complete{Result: "I say it is done"})
	if st.s.Agents["coder"] != nil {
		t.Error("it has not ended")
	}
	_, prompt := st.turn("lead", "t2")
	st.says(prompt, "Result from coder (it has completed and ended):\nI say it is done", "No reply from coder to message m1: it completed.")
}
