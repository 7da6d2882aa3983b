package team

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
)

// A waiting agent is woken by requests, by the user and by what settles its wait; notifications wait with it.
func TestWhatWakesAWaitingAgent(t *testing.T) {
	for name, tc := range map[string]struct {
		wake  func(st *story)
		wakes bool
	}{
		"notification": {func(st *story) { st.must(operator("critic"), Send{ID: "n", Recipient: "lead", Text: "by the way"}) }, false},
		"request":      {func(st *story) { st.must(operator("critic"), Send{ID: "n", Recipient: "lead", Text: "?", Sync: true}) }, true},
		"user":         {func(st *story) { st.tellAgent("lead", "n") }, true},
		"result":       {func(st *story) { st.must(operator("critic"), Complete{Result: "done"}) }, true},
		"failure of another": {func(st *story) {
			st.end(st.busy("critic", "t9"), substrat.FailedTurn, "broke")
		}, false},
		"reply":      {func(st *story) { a, _ := st.turn("coder", "t9"); st.end(a, substrat.Completed, "yes") }, true},
		"no reply":   {func(st *story) { st.must(user, Terminate{Agent: "coder"}) }, true},
		"deadline":   {func(st *story) { st.now = st.now.Add(st.lim.ReplyDeadline); st.must(user, Expire{}) }, true},
		"an attempt": {func(st *story) { a, _ := st.turn("coder", "t9"); st.end(a, substrat.FailedTurn, "broke") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			st := tell(t)
			st.asking("m1")
			st.state("lead", substrat.Waiting)
			tc.wake(st)
			woken := false
			for _, r := range st.s.ReadyAgents(st.now) {
				woken = woken || r.Agent == "lead"
			}
			if woken != tc.wakes || len(st.s.Agents["lead"].Queue) == 0 {
				t.Errorf("woken %v, want %v", woken, tc.wakes)
			}
		})
	}
}

func TestNotificationsComeWithTheReply(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	st.must(operator("critic"), Send{ID: "n1", Recipient: "lead", Text: "by the way"})
	coder, _ := st.turn("coder", "t1")
	st.end(coder, substrat.Completed, "mended")
	_, prompt := st.turn("lead", "t2")
	want := "You have 2 messages.\n\n1. Message from critic:\nby the way\n\n2. Reply from coder (to message m1):\nmended\n"
	if diff := cmp.Diff(want, prompt); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
}

// Two agents that wait for each other are woken by each other's requests, and by the user.
func TestNoCycleOfWaitsStopsATeam(t *testing.T) {
	st := tell(t)
	a, b := st.busy("coder", "t1"), st.busy("critic", "t2")
	st.must(a, Send{ID: "m1", Recipient: "critic", Text: "you first", Sync: true})
	st.must(b, Send{ID: "m2", Recipient: "coder", Text: "no, you", Sync: true})
	st.end(a, substrat.Completed, "")
	st.end(b, substrat.Completed, "")
	st.state("coder", substrat.Waiting)
	st.state("critic", substrat.Waiting)
	st.ready("coder", "critic")
	st.tellAgent("coder", "u")
	a, _ = st.turn("coder", "t3")
	st.end(a, substrat.Completed, "all right, I")
	st.ready("critic")
	b, _ = st.turn("critic", "t4")
	st.end(b, substrat.Completed, "good")
	st.became("m1", substrat.Answered)
	st.became("m2", substrat.Answered)
	a, prompt := st.turn("coder", "t5")
	st.says(prompt, "Reply from critic (to message m1):\ngood")
	st.end(a, substrat.Completed, "")
	st.state("coder", substrat.Idle)
	st.state("critic", substrat.Idle)
	st.ready()
}

func TestLongestWaitingIsFirst(t *testing.T) {
	st := tell(t)
	begin := st.now
	st.asking("m1")
	st.now = begin.Add(time.Second)
	st.must(operator("critic"), Send{ID: "n", Recipient: "lead", Text: "by the way"})
	st.now = begin.Add(2 * time.Second)
	st.tellAgent("critic", "u1")
	st.now = begin.Add(3 * time.Second)
	st.tellAgent("lead", "u2")
	want := []Ready{
		{"coder", "sim", 2, begin}, {"critic", "sim", 0, begin.Add(2 * time.Second)}, {"lead", "sim", 0, begin.Add(3 * time.Second)},
	}
	if diff := cmp.Diff(want, st.s.ReadyAgents(st.now)); diff != "" {
		t.Errorf("ready (-want +got):\n%s", diff)
	}
	coder, _ := st.turn("coder", "t1")
	st.end(coder, substrat.FailedTurn, "broke")
	retry := st.s.Agents["coder"].RetryAt
	st.now = retry
	if got := st.s.ReadyAgents(st.now); got[len(got)-1] != (Ready{"coder", "sim", 2, retry}) {
		t.Errorf("after its back-off the coder waits since %+v", got)
	}
}

func TestNextDue(t *testing.T) {
	st := tell(t)
	if due := st.s.NextDue(st.now); !due.IsZero() {
		t.Errorf("due %s in a team at rest", due)
	}
	st.asking("m1")
	deadline := st.now.Add(st.lim.ReplyDeadline)
	if due := st.s.NextDue(st.now); !due.Equal(deadline) {
		t.Errorf("due %s, want the deadline %s", due, deadline)
	}
	coder, _ := st.turn("coder", "t1")
	st.end(coder, substrat.FailedTurn, "broke")
	if due := st.s.NextDue(st.now); !due.Equal(st.now.Add(time.Second)) {
		t.Errorf("due %s, want the next attempt", due)
	}
	if v := st.s.View("coder"); v.RetryAt == nil || !v.RetryAt.Equal(st.now.Add(time.Second)) {
		t.Errorf("the next attempt is shown as %v", v.RetryAt)
	}
	if due := st.s.NextDue(st.now.Add(time.Second)); !due.Equal(deadline) {
		t.Errorf("due %s once the next attempt may begin", due)
	}
}

func TestStates(t *testing.T) {
	st := tell(t)
	st.state("lead", substrat.Idle)
	st.asking("m1")
	st.state("lead", substrat.Waiting)
	st.busy("lead", "t1")
	st.state("lead", substrat.Busy)
	st.lim.Attempts = 1
	coder, _ := st.turn("coder", "t2")
	st.end(coder, substrat.FailedTurn, "broke")
	st.state("coder", substrat.Failed)
	st.must(operator("coder"), Send{ID: "q", Recipient: "critic", Text: "help", Sync: true})
	st.state("coder", substrat.Waiting)
	if diff := cmp.Diff(substrat.Agent{}, st.s.View("gone")); diff != "" {
		t.Errorf("an agent that is not there is shown:\n%s", diff)
	}
}
