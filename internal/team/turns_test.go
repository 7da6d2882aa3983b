package team

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
)

func TestFailureIsToldAndTriedAgain(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	for attempt := 1; attempt <= st.lim.Attempts; attempt++ {
		coder, prompt := st.turn("coder", fmt.Sprint("c", attempt))
		if again := strings.Contains(prompt, "another attempt; the one before did not complete (agent_error: broke)"); again != (attempt > 1) {
			t.Errorf("attempt %d: prompt %q", attempt, prompt)
		}
		st.end(coder, substrat.FailedTurn, "broke")
		if attempt < st.lim.Attempts {
			st.ready()
			st.state("coder", substrat.Idle)
			if m := st.s.Messages["m1"]; m.State != substrat.Queued || m.Attempts != attempt {
				t.Errorf("after attempt %d the message is %s with %d", attempt, m.State, m.Attempts)
			}
			st.restart(attempt == 1)
			st.later()
			st.ready("coder")
		}
	}
	st.state("coder", substrat.Failed)
	st.became("m1", substrat.Dead)
	st.says(st.final["m1"].Detail, "failed (agent_error: broke)")
	st.ready("lead")
	_, prompt := st.turn("lead", "t9")
	st.says(prompt, "No reply from coder to message m1: its turn failed (agent_error: broke).", "Turn 1 of lead/coder failed (agent_error: broke); it is tried again in 1s.",
		"tried again in 4s", "gave up on it", "\nNot handled: message m1 from lead: mend", "from lead (given up): mend")
	st.end(st.busy("coder", "t10"), substrat.Completed, "works")
	st.state("coder", substrat.Idle)
	if e := st.s.View("coder").LastError; e != "" {
		t.Errorf("last error %q", e)
	}
}

func TestBackoffGrows(t *testing.T) {
	lim := DefaultLimits()
	lim.Backoff, lim.BackoffMax = time.Second, 50*time.Second
	var failed, cut []time.Duration
	for n := 1; n <= 6; n++ {
		failed, cut = append(failed, lim.backoff(n)), append(cut, lim.interruptBackoff(n))
	}
	s, ms := time.Second, time.Millisecond
	if diff := cmp.Diff([]time.Duration{s, 4 * s, 16 * s, 50 * s, 50 * s, 50 * s}, failed); diff != "" {
		t.Errorf("after failures (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms}, cut); diff != "" {
		t.Errorf("after interruptions (-want +got):\n%s", diff)
	}
	for _, zero := range []Limits{{}, {Backoff: time.Hour}, {BackoffMax: time.Hour}} {
		if d := zero.backoff(1<<40) + zero.interruptBackoff(1<<40); d != 0 {
			t.Errorf("%+v waits %s", zero, d)
		}
	}
}

// A message that makes turns fail takes no other with it: each has attempts of its own.
func TestEachMessageHasItsOwnAttempts(t *testing.T) {
	st := tell(t)
	st.tellAgent("coder", "poison")
	for i := 1; i <= 2; i++ {
		coder, _ := st.turn("coder", fmt.Sprint("t", i))
		st.end(coder, substrat.FailedTurn, "broke")
		st.later()
	}
	st.tellAgent("coder", "fresh")
	coder, _ := st.turn("coder", "t3")
	st.end(coder, substrat.TimedOut, "slow")
	st.became("poison", substrat.Dead)
	st.queue("coder", "fresh")
	st.says(st.s.Messages[derive("t3", "failed")].Text, "timed out (agent_error: slow); it is tried again in 16s; gave up on it after its last attempt: 1 of 2 messages.",
		"message poison from USER (given up): go", "message fresh from USER: go")
	st.later()
	coder, prompt := st.turn("coder", "t4")
	st.says(prompt, "another attempt")
	st.end(coder, substrat.Completed, "done")
	st.became("fresh", substrat.Handled)
	st.state("coder", substrat.Idle)
}

func TestInterruptionUsesUpNoAttempt(t *testing.T) {
	st := tell(t)
	st.tellAgent("coder", "u")
	for i := 1; i < st.lim.Interrupts; i++ {
		coder, _ := st.turn("coder", fmt.Sprint("t", i))
		st.end(coder, substrat.Interrupted, "cut")
		st.queue("lead")
		st.later()
	}
	for i := 1; i < st.lim.Attempts; i++ {
		coder, _ := st.turn("coder", fmt.Sprint("f", i))
		st.end(coder, substrat.FailedTurn, "broke")
		st.later()
	}
	st.queue("coder", "u")
	coder, _ := st.turn("coder", "last")
	st.end(coder, substrat.Interrupted, "cut once too often")
	st.became("u", substrat.Dead)
	st.says(st.s.Messages[derive("last", "failed")].Text, "was interrupted (agent_error: cut once too often); gave up on it")
}

func TestRootFailureIsToldToTheUser(t *testing.T) {
	st := tell(t)
	lead := st.busy("lead", "t1")
	st.end(lead, substrat.FailedTurn, "broke")
	m := st.final[derive("t1", "failed")]
	if m.To != substrat.User || m.From != substrat.System || m.Kind != substrat.KindError || m.State != substrat.Delivered {
		t.Errorf("the user got %+v", m)
	}
	st.says(m.Text, "Turn 1 of lead failed", "message wake-t1 from USER: go")
}

// What a failed turn had is back where it was, before what came later, also what it had taken out of the middle.
func TestFailedTurnKeepsTheOrder(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	for i, from := range []string{"lead", "critic", "lead", "critic"} {
		st.must(operator(from), Send{ID: fmt.Sprint("n", i), Recipient: "coder", Text: "hi"})
	}
	st.must(coder, Take{Sender: "critic", Limit: 1})
	st.must(coder, Take{Sender: "lead", Limit: 1})
	st.queue("coder", "n2", "n3")
	st.end(coder, substrat.FailedTurn, "broke")
	st.queue("coder", "wake-t1", "n0", "n1", "n2", "n3")
	st.restart(true)
}

// With what failed gone, the next message is no other attempt, and does not wait.
func TestNothingIsLeftToTryAgain(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	coder, _ := st.turn("coder", "t1")
	st.end(coder, substrat.FailedTurn, "broke")
	st.now = st.now.Add(st.lim.ReplyDeadline)
	st.must(user, Expire{})
	st.tellAgent("coder", "u")
	coder, prompt := st.turn("coder", "t2")
	if prompt != "Message from USER:\ngo" {
		t.Errorf("prompt %q", prompt)
	}
	st.end(coder, substrat.FailedTurn, "broke")
	if got := st.s.Agents["coder"].RetryAt.Sub(st.now); got != time.Second {
		t.Errorf("waits %s", got)
	}
}

// A turn that failed after it had answered everything leaves nothing to try again; the parent learns of it all the same.
func TestFailureWithoutMail(t *testing.T) {
	for _, outcome := range []substrat.Outcome{substrat.FailedTurn, substrat.Interrupted} {
		st := tell(t)
		st.asking("m1")
		coder, _ := st.turn("coder", "t1")
		st.must(coder, Send{ID: "r", Recipient: "lead", Text: "done", ReplyTo: "m1"})
		st.end(coder, outcome, "broke")
		st.ready("lead")
		st.state("coder", substrat.Failed)
		st.queue("lead", "r", derive("t1", "failed"))
		text := st.s.Messages[derive("t1", "failed")].Text
		st.says(text, "Turn 1 of lead/coder")
		st.quiet(text, "again", "gave up", "Not handled")
	}
}

func TestFailureNoticeIsBounded(t *testing.T) {
	st := tell(t)
	for range 50 {
		st.must(user, Send{ID: st.id(), To: "coder", Text: strings.Repeat("long ", 1000)})
	}
	coder, _ := st.turn("coder", "t1")
	st.end(coder, substrat.FailedTurn, strings.Repeat("x", 10_000))
	text := st.s.Messages[derive("t1", "failed")].Text
	st.says(text, "Not handled: 30 more messages")
	if len(text) > 6000 {
		t.Errorf("the notice has %d bytes", len(text))
	}
}

func TestLostSessionIsSaid(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		st := tell(t)
		st.must(user, Bind{Agent: "coder", Session: "s1"})
		coder := st.busy("coder", "t1")
		st.must(user, End{Agent: "coder", Turn: coder.Turn, Outcome: substrat.FailedTurn, Class: substrat.ClassSession})
		if got := st.turns["t1"].Session; got != "s1" {
			t.Errorf("the turn ran in %q", got)
		}
		if st.s.Agents["coder"].Session != "" {
			t.Error("the lost session is still bound")
		}
		const note = "earlier conversation could not be found"
		st.later()
		coder, prompt := st.turn("coder", "t2")
		st.says(prompt, note)
		// The daemon may die between binding the new session and handing over the prompt, and the turn may fail after.
		st.must(user, Bind{Agent: "coder", Session: "s2"})
		st.restart(snapshot)
		st.says(st.s.Prompt("coder"), note)
		st.end(coder, substrat.FailedTurn, "broke")
		st.later()
		coder, prompt = st.turn("coder", "t3")
		st.says(prompt, note)
		st.end(coder, substrat.Completed, "")
		st.tellAgent("coder", "u2")
		_, prompt = st.turn("coder", "t4")
		st.quiet(prompt, note)
		if got := st.s.View("coder").Session; got != "s2" {
			t.Errorf("session %q", got)
		}
	}
}

func TestBind(t *testing.T) {
	st := tell(t)
	st.refused(user, Bind{Agent: "gone", Session: "s"}, substrat.CodeTerminated, "has ended")
	st.must(user, Bind{Agent: "coder", Session: "s\xff"})
	if entries, _, err := st.do(user, "", Bind{Agent: "coder", Session: "s\xff"}); len(entries) != 0 || err != nil {
		t.Errorf("the same session again: %v, %v", entries, err)
	}
	st.restart(false)
}

func TestCancel(t *testing.T) {
	st := tell(t)
	st.refused(user, Cancel{Agent: "coder"}, substrat.CodeConflict, "no turn is open")
	st.refused(user, Cancel{Agent: "gone"}, substrat.CodeTerminated, "has ended")
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	for range 2 {
		if got := st.must(user, Cancel{Agent: "coder"}); got != `{"status":"cancelling","turn":"t2"}` {
			t.Errorf("answer %s", got)
		}
	}
	if by := st.s.Agents["coder"].Turn.Cancel; by != substrat.User {
		t.Errorf("cancelled by %q", by)
	}
	st.must(user, End{Agent: "coder", Turn: coder.Turn, Outcome: substrat.Cancelled, Class: substrat.ClassCancelled})
	st.became("m1", substrat.Dead)
	st.says(st.final["m1"].Detail, "was cancelled (cancelled)")
	st.state("coder", substrat.Idle)
	st.ready("lead")
	_, prompt := st.turn("lead", "t3")
	st.says(prompt, "No reply from coder to message m1: its turn was cancelled")
}

// A turn can be quicker than its cancellation.
func TestCompletedAfterCancel(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	st.must(user, Cancel{Agent: "coder"})
	st.end(coder, substrat.Completed, "done in time")
	st.became("m1", substrat.Answered)
}

func TestStartIsRefused(t *testing.T) {
	st := tell(t)
	for name, c := range map[string]Start{"no mail": {Agent: "coder", Turn: "t"}, "gone": {Agent: "gone", Turn: "t"}} {
		t.Run(name, func(t *testing.T) { st.t = t; st.refused(user, c, substrat.CodeConflict, "not ready") })
	}
	st.t = t
	st.tellAgent("coder", "u")
	st.refused(user, Start{Agent: "coder"}, substrat.CodeConflict, "not ready")
	st.turn("coder", "t1")
	st.tellAgent("coder", "u2")
	st.refused(user, Start{Agent: "coder", Turn: "t2"}, substrat.CodeConflict, "not ready")
}

func TestStartTakesSoMany(t *testing.T) {
	st := tell(t)
	for range 150 {
		st.tellAgent("coder", st.id())
	}
	st.must(user, Start{Agent: "coder", Turn: "t1", Most: 2})
	if got := st.s.Agents["coder"]; len(got.Queue) != 148 || len(got.Turn.Prompted) != 2 {
		t.Errorf("%d in the turn, %d left", len(got.Turn.Prompted), len(got.Queue))
	}
	st.end(Actor{Agent: "coder", Turn: "t1"}, substrat.Completed, "")
	st.must(user, Start{Agent: "coder", Turn: "t2"})
	if got := st.s.Agents["coder"]; len(got.Queue) != 48 || got.Turns != 2 {
		t.Errorf("%d left in turn %d", len(got.Queue), got.Turns)
	}
}

func TestEndIsOnce(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	st.refused(user, End{Agent: "coder", Turn: "t1", Outcome: "fine"}, substrat.CodeInternal, `no outcome "fine"`)
	st.refused(user, End{Agent: "coder", Turn: "t0", Outcome: substrat.Completed}, substrat.CodeConflict, "it is not open")
	st.refused(user, End{Agent: "critic", Turn: "t1", Outcome: substrat.Completed}, substrat.CodeConflict, "it is not open")
	st.now = st.now.Add(3 * time.Second)
	usage := &substrat.Usage{InputTokens: 7}
	st.must(user, End{
		Agent: "coder", Turn: "t1", Outcome: substrat.Completed, Text: "a\xffb", Detail: "d\xff", Files: []string{"f\xff"}, ToolCalls: 4, Usage: usage,
	})
	st.refused(user, End{Agent: "coder", Turn: "t1", Outcome: substrat.FailedTurn}, substrat.CodeConflict, "it is not open")
	ended := st.now
	want := substrat.Turn{
		ID: "t1", Agent: "lead/coder", AgentID: "coder", Team: "lead", Number: 1, Messages: []string{"wake-t1"}, StartedAt: ended.Add(-3 * time.Second), EndedAt: &ended,
		Outcome: substrat.Completed, Text: "a\uFFFDb", Detail: "d\uFFFD", Files: []string{"f\uFFFD"}, ToolCalls: 4, Usage: usage,
	}
	if diff := cmp.Diff(want, st.turns[coder.Turn]); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
	st.became("wake-t1", substrat.Handled)
	st.restart(false)
}
