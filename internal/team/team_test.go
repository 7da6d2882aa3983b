package team

import (
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// story is a team that a test plays step by step.
type story struct {
	t   *testing.T
	s   *State
	now time.Time
	lim Limits
	// final are the messages that left, with their last state.
	final map[string]substrat.MessageState
}

func tell(t *testing.T) *story {
	st := &story{t: t, s: New("lead"), now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), lim: DefaultLimits(), final: map[string]substrat.MessageState{}}
	st.must(Actor{}, Create{ID: "lead", Name: "lead", Provider: "sim", Dir: "/w", Sandbox: substrat.Bubblewrap, Network: substrat.NetworkNone})
	for _, n := range []string{"coder", "critic"} {
		st.must(Actor{}, Create{ID: n, Name: n, Parent: "lead"})
	}
	return st
}

func (st *story) try(a Actor, c Command) (string, error) {
	st.t.Helper()
	entries, answer, err := Decide(st.s, Meta{At: st.now, Actor: a, Limits: st.lim}, c)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		retired, err := st.s.Apply(e)
		if err != nil {
			st.t.Fatal(err)
		}
		for _, r := range retired {
			if r.Message != nil {
				st.final[r.Message.ID] = r.Message.State
			}
		}
	}
	return string(answer), nil
}

func (st *story) must(a Actor, c Command) string {
	st.t.Helper()
	answer, err := st.try(a, c)
	if err != nil {
		st.t.Fatalf("%T: %v", c, err)
	}
	return answer
}

// refused wants a command to be refused with a code, and a message that says why.
func (st *story) refused(a Actor, c Command, code substrat.Code, why string) {
	st.t.Helper()
	_, err := st.try(a, c)
	if substrat.CodeOf(err) != code || err == nil || !strings.Contains(err.Error(), why) {
		st.t.Errorf("%T: %v, want %s with %q", c, err, code, why)
	}
}

// turn starts an agent's turn; the prompt is what it sees.
func (st *story) turn(agent, id string) (Actor, string) {
	st.t.Helper()
	st.must(Actor{}, Start{Agent: agent, Turn: id})
	return Actor{Agent: agent, Turn: id}, st.s.Prompt(agent)
}

func (st *story) end(a Actor, o substrat.Outcome, text string) {
	st.t.Helper()
	x := End{Agent: a.Agent, Turn: a.Turn, Outcome: o, Text: text}
	if o != substrat.Completed {
		x.Class, x.Detail = substrat.ClassAgent, text
	}
	st.must(Actor{}, x)
}

func (st *story) state(agent string, want substrat.AgentState) {
	st.t.Helper()
	if got := st.s.View(agent).State; got != want {
		st.t.Errorf("%s is %s, want %s", agent, got, want)
	}
}

func (st *story) ready(want ...string) {
	st.t.Helper()
	var got []string
	for _, r := range st.s.ReadyAgents(st.now) {
		got = append(got, r.Agent)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		st.t.Errorf("ready: %v, want %v", got, want)
	}
}

func TestSyncIsTwoTurns(t *testing.T) {
	st := tell(t)
	st.must(Actor{}, Send{ID: "u1", To: "lead", Text: "go"})
	lead, prompt := st.turn("lead", "t1")
	if prompt != "Message from USER:\ngo" {
		t.Errorf("prompt %q", prompt)
	}
	if got := st.must(lead, Send{ID: "m1", Recipient: "coder", Text: "mend", Sync: true}); !strings.Contains(got, `"waiting_for_reply":true`) {
		t.Errorf("answer %s", got)
	}
	st.end(lead, substrat.Completed, "asked")
	st.state("lead", substrat.Waiting)
	coder, prompt := st.turn("coder", "t2")
	if !strings.HasPrefix(prompt, "Message from lead:\nmend\n") || !strings.Contains(prompt, "[message m1") {
		t.Errorf("prompt %q", prompt)
	}
	st.end(coder, substrat.Completed, "mended")
	st.ready("lead")
	lead, prompt = st.turn("lead", "t3")
	if prompt != "Reply from coder (to message m1):\nmended" {
		t.Errorf("prompt %q", prompt)
	}
	st.end(lead, substrat.Completed, "thanks")
	st.state("lead", substrat.Idle)
	if len(st.s.Messages) != 0 {
		t.Errorf("%d messages are left", len(st.s.Messages))
	}
	if st.final["u1"] != substrat.Handled || st.final["m1"] != substrat.Answered {
		t.Errorf("receipts: %v", st.final)
	}
}

func TestExplicitReply(t *testing.T) {
	st := tell(t)
	lead := st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	st.refused(coder, Send{ID: "x", Recipient: "critic", Text: "no", ReplyTo: "m1"}, substrat.CodeInvalid, "it came from lead")
	st.must(coder, Send{ID: "r1", Recipient: "lead", Text: "early", ReplyTo: "m1"})
	st.refused(coder, Send{ID: "r2", Recipient: "lead", Text: "again", ReplyTo: "m1"}, substrat.CodeConflict, "not a request that waits")
	st.end(coder, substrat.Completed, "closing text that is no reply")
	_, prompt := st.turn("lead", "t3")
	if prompt != "Reply from coder (to message m1):\nearly" {
		t.Errorf("prompt %q", prompt)
	}
	_ = lead
}

// asking lets the lead ask the coder, and ends its turn.
func (st *story) asking(id string) Actor {
	st.t.Helper()
	st.must(Actor{}, Send{ID: "u-" + id, To: "lead", Text: "go"})
	lead, _ := st.turn("lead", "t-"+id)
	st.must(lead, Send{ID: id, Recipient: "coder", Text: "mend", Sync: true})
	st.end(lead, substrat.Completed, "asked")
	return lead
}

func TestFailureIsToldAndTriedAgain(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	for attempt := 1; attempt <= st.lim.Attempts; attempt++ {
		coder, prompt := st.turn("coder", "c"+string(rune('0'+attempt)))
		if again := strings.Contains(prompt, "another attempt"); again != (attempt > 1) {
			t.Errorf("attempt %d: prompt %q", attempt, prompt)
		}
		st.end(coder, substrat.FailedTurn, "broke")
		if attempt < st.lim.Attempts {
			st.ready()
			st.now = st.s.NextDue(st.now)
			st.ready("coder")
		}
	}
	st.state("coder", substrat.Failed)
	if st.final["m1"] != substrat.Dead {
		t.Errorf("receipts: %v", st.final)
	}
	st.ready("lead")
	_, prompt := st.turn("lead", "t9")
	for _, want := range []string{"No reply from coder to message m1", "tried again in 1s", "gave up on it", "Not handled: message m1 from lead: mend"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the lead is not told %q:\n%s", want, prompt)
		}
	}
	st.must(Actor{}, Send{ID: "u2", To: "coder", Text: "once more"})
	coder, _ := st.turn("coder", "t10")
	st.end(coder, substrat.Completed, "works")
	st.state("coder", substrat.Idle)
}

func TestInterruptionUsesUpNoAttempt(t *testing.T) {
	st := tell(t)
	st.must(Actor{}, Send{ID: "u", To: "coder", Text: "go"})
	for i := range st.lim.Attempts + 2 {
		coder, _ := st.turn("coder", "t"+string(rune('a'+i)))
		st.end(coder, substrat.Interrupted, "cut")
		st.now = st.s.NextDue(st.now)
	}
	coder, _ := st.turn("coder", "last")
	st.end(coder, substrat.Completed, "done")
	st.state("coder", substrat.Idle)
}

func TestLostSessionIsSaid(t *testing.T) {
	st := tell(t)
	st.must(Actor{}, Bind{Agent: "coder", Session: "s1"})
	st.must(Actor{}, Send{ID: "u", To: "coder", Text: "go"})
	coder, _ := st.turn("coder", "t1")
	st.must(Actor{}, End{Agent: "coder", Turn: coder.Turn, Outcome: substrat.FailedTurn, Class: substrat.ClassSession})
	if st.s.Agents["coder"].Session != "" {
		t.Error("the lost session is still bound")
	}
	st.now = st.s.NextDue(st.now)
	if _, prompt := st.turn("coder", "t2"); !strings.Contains(prompt, "earlier conversation could not be found") {
		t.Errorf("prompt %q", prompt)
	}
}

func TestWaking(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	st.must(Actor{Agent: "critic", Operator: true}, Send{ID: "n1", Recipient: "lead", Text: "by the way"})
	st.ready("coder")
	st.must(Actor{Agent: "critic", Operator: true}, Send{ID: "r1", Recipient: "lead", Text: "a question", Sync: true})
	st.ready("coder", "lead")
	lead, prompt := st.turn("lead", "t2")
	if !strings.Contains(prompt, "You have 2 messages.") || !strings.Contains(prompt, "1. Message from critic:\nby the way") {
		t.Errorf("prompt %q", prompt)
	}
	st.end(lead, substrat.Completed, "answer")
	st.state("lead", substrat.Waiting)
	st.must(Actor{}, Send{ID: "u2", To: "lead", Text: "hurry"})
	st.ready("coder", "critic", "lead")
}

func TestDeadline(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	st.now = st.now.Add(st.lim.ReplyDeadline)
	if !st.s.Overdue(st.now) {
		t.Error("the request is not overdue")
	}
	st.must(Actor{}, Expire{})
	_, prompt := st.turn("lead", "t3")
	if !strings.Contains(prompt, "No reply from coder to message m1: no reply within 1h0m0s.") {
		t.Errorf("prompt %q", prompt)
	}
	st.end(coder, substrat.Completed, "too late")
	if st.final["m1"] != substrat.Expired {
		t.Errorf("receipts: %v", st.final)
	}
	if n := len(st.s.Agents["lead"].Queue); n != 0 {
		t.Errorf("a reply to an expired request came: %d", n)
	}
}

func TestBroadcast(t *testing.T) {
	st := tell(t)
	st.must(Actor{}, Send{ID: "u", To: "lead", Text: "go"})
	lead, _ := st.turn("lead", "t1")
	if got := st.must(lead, SendAll{ID: "b1", Text: "who?", To: "children"}); !strings.Contains(got, `"recipient_count":2`) {
		t.Errorf("answer %s", got)
	}
	st.end(lead, substrat.Completed, "asked all")
	coder, _ := st.turn("coder", "t2")
	st.end(coder, substrat.Completed, "me")
	st.must(Actor{}, Terminate{Agent: "critic"})
	_, prompt := st.turn("lead", "t3")
	for _, want := range []string{"Reply from coder", "No reply from critic", "1 of 2 answered", "Did not answer: lead/critic"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the lead is not told %q:\n%s", want, prompt)
		}
	}
}

func TestRouting(t *testing.T) {
	st := tell(t)
	st.must(Actor{}, Create{ID: "helper", Name: "helper", Parent: "coder"})
	st.must(Actor{}, Send{ID: "u", To: "coder", Text: "go"})
	coder, _ := st.turn("coder", "t1")
	for _, ok := range []string{"lead", "critic", "helper"} {
		st.must(coder, Send{ID: "to-" + ok, Recipient: ok, Text: "hi"})
	}
	st.refused(coder, Send{ID: "x1", Recipient: "USER", Text: "hi"}, substrat.CodeUnreachable, "only the root")
	st.refused(coder, Send{ID: "x2", Recipient: "coder", Text: "hi"}, substrat.CodeUnreachable, "you can reach: lead, critic, helper")
	st.refused(coder, Send{ID: "x3", Recipient: "lead", Text: " "}, substrat.CodeInvalid, "empty")
	st.refused(coder, Send{ID: "x4", Recipient: "lead", Text: strings.Repeat("x", st.lim.TextBytes+1)}, substrat.CodeTooLarge, "at most")
	st.refused(Actor{Agent: "coder", Turn: "old"}, Send{ID: "x5", Recipient: "lead", Text: "hi"}, substrat.CodeForbidden, "is over")
	st.refused(Actor{Agent: "nobody"}, Send{ID: "x6", Recipient: "lead", Text: "hi"}, substrat.CodeTerminated, "has ended")
}

func TestTreeLimits(t *testing.T) {
	st := tell(t)
	st.lim.Depth, st.lim.Descendants = 3, 3
	for _, taken := range []string{"lead", "coder", "critic"} {
		st.refused(Actor{}, Create{ID: "x", Name: taken, Parent: "coder"}, substrat.CodeNameTaken, "has it")
	}
	st.must(Actor{}, Create{ID: "h", Name: "h", Parent: "coder"})
	st.refused(Actor{}, Create{ID: "x", Name: "h", Parent: "lead"}, substrat.CodeNameTaken, "a child of lead/coder")
	st.refused(Actor{}, Create{ID: "x", Name: "deep", Parent: "h"}, substrat.CodeLimit, "3 levels")
	st.must(Actor{}, Send{ID: "u", To: "coder", Text: "go"})
	coder, _ := st.turn("coder", "t1")
	st.refused(coder, Create{ID: "x", Name: "more"}, substrat.CodeLimit, "lead has 3 agents under it")
	st.refused(coder, Create{ID: "x", Name: "../x"}, substrat.CodeInvalid, "as a name")
}

func TestSpawn(t *testing.T) {
	st := tell(t)
	st.must(Actor{}, Send{ID: "u", To: "coder", Text: "go"})
	coder, _ := st.turn("coder", "t1")
	st.refused(coder, Create{ID: "x", Name: "x", Subdir: "../out"}, substrat.CodeInvalid, "not below the workspace")
	st.refused(coder, Create{ID: "x", Name: "x", Provider: "cursor", Network: substrat.NetworkHost}, substrat.CodeForbidden, "which you do not have")
	st.refused(coder, Create{ID: "x", Name: "x", Dir: "/etc"}, substrat.CodeForbidden, "only the user names directories")
	st.must(coder, Create{ID: "a", Name: "a", Instructions: "begin here", Subdir: "sub", Sandbox: substrat.NoSandbox})
	st.must(coder, Create{ID: "b", Name: "b", Instructions: "stand by"})
	st.must(coder, Send{ID: "m", Recipient: "b", Text: "do this"})
	if a := st.s.Agents["a"]; a.Dir != "/w/sub" || a.Sandbox != substrat.Bubblewrap || a.Network != substrat.NetworkNone || a.Provider != "sim" {
		t.Errorf("the child has %+v", a)
	}
	st.ready()
	st.end(coder, substrat.Completed, "spawned")
	st.ready("a", "b")
	if _, prompt := st.turn("a", "t2"); !strings.Contains(prompt, "begin here") {
		t.Errorf("prompt %q", prompt)
	}
	if _, prompt := st.turn("b", "t3"); prompt != "Message from coder:\ndo this" {
		t.Errorf("prompt %q", prompt)
	}
}

func TestComplete(t *testing.T) {
	st := tell(t)
	st.must(Actor{}, Send{ID: "u", To: "lead", Text: "go"})
	lead, _ := st.turn("lead", "t1")
	st.refused(lead, Complete{Result: "x"}, substrat.CodeForbidden, "you are the root")
	st.must(lead, Send{ID: "m1", Recipient: "coder", Text: "mend", Sync: true})
	st.end(lead, substrat.Completed, "asked")
	coder, _ := st.turn("coder", "t2")
	st.must(coder, Create{ID: "h", Name: "h"})
	st.refused(coder, Complete{Result: "x"}, substrat.CodeConflict, "have not ended")
	st.must(Actor{}, Terminate{Agent: "h"})
	st.must(coder, Complete{Result: "all mended"})
	st.end(coder, substrat.Completed, "closing words")
	if st.s.Agents["coder"] != nil {
		t.Error("the coder has not ended")
	}
	if _, prompt := st.turn("lead", "t3"); prompt != "Reply from coder (to message m1):\nall mended" {
		t.Errorf("prompt %q", prompt)
	}
}

func TestCompleteUnasked(t *testing.T) {
	st := tell(t)
	st.must(Actor{}, Send{ID: "u", To: "coder", Text: "go"})
	coder, _ := st.turn("coder", "t1")
	st.must(coder, Complete{Result: "all done"})
	st.end(coder, substrat.FailedTurn, "broke after all")
	if st.s.Agents["coder"] == nil {
		t.Fatal("an agent whose turn failed ended all the same")
	}
	st.now = st.s.NextDue(st.now)
	coder, _ = st.turn("coder", "t2")
	st.must(coder, Complete{Result: "all done"})
	st.end(coder, substrat.Completed, "")
	if _, prompt := st.turn("lead", "t3"); !strings.Contains(prompt, "Result from coder (it has completed and ended):\nall done") {
		t.Errorf("prompt %q", prompt)
	}
}

func TestHopLimit(t *testing.T) {
	st := tell(t)
	st.lim.Hops = 4
	st.must(Actor{}, Send{ID: "u", To: "coder", Text: "ping"})
	names := map[string]string{"coder": "critic", "critic": "coder"}
	from := "coder"
	for i := 0; ; i++ {
		a, _ := st.turn(from, "t"+string(rune('a'+i)))
		_, err := st.try(a, Send{ID: "m" + string(rune('a'+i)), Recipient: names[from], Text: "ping"})
		st.end(a, substrat.Completed, "")
		if err != nil {
			if substrat.CodeOf(err) != substrat.CodeLimit || i != 4 {
				t.Errorf("refused after %d hops: %v", i, err)
			}
			return
		}
		if i > 10 {
			t.Fatal("the chain of messages never ended")
		}
		from = names[from]
	}
}

func TestCheckInbox(t *testing.T) {
	st := tell(t)
	st.must(Actor{}, Send{ID: "u", To: "coder", Text: "go"})
	coder, _ := st.turn("coder", "t1")
	st.must(Actor{Agent: "lead", Operator: true}, Send{ID: "n1", Recipient: "coder", Text: "one"})
	st.must(Actor{Agent: "critic", Operator: true}, Send{ID: "n2", Recipient: "coder", Text: "two"})
	if got := st.must(coder, Take{Sender: "critic", Kind: substrat.KindRequest}); got != `{"messages":[]}` {
		t.Errorf("both filters must match: %s", got)
	}
	if got := st.must(coder, Take{Sender: "critic"}); !strings.Contains(got, `"from":"critic","text":"two","message_id":"n2"`) || strings.Contains(got, "one") {
		t.Errorf("answer %s", got)
	}
	if got := st.must(Actor{Agent: "coder", Operator: true}, Take{}); !strings.Contains(got, "one") {
		t.Errorf("an operator does not see the mail: %s", got)
	}
	st.end(coder, substrat.Completed, "")
	if _, prompt := st.turn("coder", "t2"); prompt != "Message from lead:\none" {
		t.Errorf("what was taken came again, or what was not did not: %q", prompt)
	}
}

func TestCancel(t *testing.T) {
	st := tell(t)
	st.refused(Actor{}, Cancel{Agent: "coder"}, substrat.CodeConflict, "no turn is open")
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	st.must(Actor{}, Cancel{Agent: "coder"})
	if st.s.Agents["coder"].Turn.Cancel == "" {
		t.Error("the turn does not know that it is cancelled")
	}
	st.must(Actor{}, End{Agent: "coder", Turn: coder.Turn, Outcome: substrat.Cancelled, Class: substrat.ClassCancelled})
	st.state("coder", substrat.Idle)
	if _, prompt := st.turn("lead", "t3"); !strings.Contains(prompt, "its turn was cancelled") {
		t.Errorf("prompt %q", prompt)
	}
}
