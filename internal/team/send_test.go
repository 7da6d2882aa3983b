package team

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
)

func TestSyncIsTwoTurns(t *testing.T) {
	st := tell(t)
	st.must(user, Send{ID: "u1", To: "lead", Text: "go"})
	lead, prompt := st.turn("lead", "t1")
	if prompt != "Message from USER:\ngo" {
		t.Errorf("prompt %q", prompt)
	}
	got := decoded[substrat.Sent](st, st.must(lead, Send{ID: "m1", Recipient: "coder", Text: "mend", Sync: true}))
	if diff := cmp.Diff(substrat.Sent{Status: "sent", MessageID: "m1", WaitingForReply: true, State: substrat.Queued}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	st.end(lead, substrat.Completed, "asked")
	st.state("lead", substrat.Waiting)
	if diff := cmp.Diff([]string{"lead/coder"}, st.s.View("lead").WaitingFor); diff != "" {
		t.Errorf("waiting for (-want +got):\n%s", diff)
	}
	coder, prompt := st.turn("coder", "t2")
	st.says(prompt, "Message from lead:\nmend\n", "[message m1")
	st.end(coder, substrat.Completed, "mended")
	st.became("m1", substrat.Answered)
	st.ready("lead")
	lead, prompt = st.turn("lead", "t3")
	if prompt != "Reply from coder (to message m1):\nmended" {
		t.Errorf("prompt %q", prompt)
	}
	st.end(lead, substrat.Completed, "thanks")
	st.state("lead", substrat.Idle)
	if n := len(st.s.Messages); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// The reply is the final text of the turn that the request was injected into, and of no later one.
func TestAutomaticReplyIsTheTurnsText(t *testing.T) {
	for text, want := range map[string]string{
		"mended": "mended", " \n": "(the turn ended without text)", "": "(the turn ended without text)", "a\xffb": "a\uFFFDb",
	} {
		st := tell(t)
		st.asking("m1")
		coder, _ := st.turn("coder", "t2")
		st.must(coder, Send{ID: "q", Recipient: "critic", Text: "what do you think?", Sync: true})
		st.end(coder, substrat.Completed, text)
		if _, prompt := st.turn("lead", "t3"); prompt != "Reply from coder (to message m1):\n"+want {
			t.Errorf("text %q: prompt %q", text, prompt)
		}
		st.restart(false)
	}
}

func TestLongTextIsCutInTheReply(t *testing.T) {
	st := tell(t)
	st.lim.TextBytes = 100
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	st.end(coder, substrat.Completed, strings.Repeat("x", 250))
	_, prompt := st.turn("lead", "t3")
	st.says(prompt, "\n"+strings.Repeat("x", 100)+"…\n(cut: the turn ended with 250 bytes of text)")
}

func TestExplicitReply(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	st.refused(coder, Send{ID: "x", Recipient: "critic", Text: "no", ReplyTo: "m1"}, substrat.CodeInvalid, "it came from lead")
	st.refused(coder, Send{ID: "x", Recipient: "lead", Text: "no", ReplyTo: "t2"}, substrat.CodeConflict, "not a request that waits")
	critic := st.busy("critic", "t3")
	st.refused(critic, Send{ID: "x", Recipient: "lead", Text: "no", ReplyTo: "m1"}, substrat.CodeConflict, "not a request that waits for your answer")
	st.refused(critic, Send{ID: "x", Recipient: "lead", Text: "no", ReplyTo: "wake-t3"}, substrat.CodeConflict, "not a request that waits")

	got := decoded[substrat.Sent](st, st.must(coder, Send{ID: "r1", Recipient: "lead", Text: "early", ReplyTo: "m1", Sync: true}))
	if got.WaitingForReply {
		t.Error("a reply waits for a reply")
	}
	st.became("m1", substrat.Answered)
	if got := st.final["m1"].AnsweredBy; got != "r1" {
		t.Errorf("answered by %q", got)
	}
	st.refused(coder, Send{ID: "r2", Recipient: "lead", Text: "again", ReplyTo: "m1"}, substrat.CodeConflict, "may have been answered")
	st.ready("lead")
	st.end(coder, substrat.Completed, "closing text that is no reply")
	st.queue("lead", "r1")
	if _, prompt := st.turn("lead", "t4"); prompt != "Reply from coder (to message m1):\nearly" {
		t.Errorf("prompt %q", prompt)
	}
}

// A request that still waits in the mailbox can be answered, and is not delivered any more.
func TestReplyToAQueuedRequest(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	st.asking("m1")
	st.must(coder, Send{ID: "r1", Recipient: "lead", Text: "I know what you want", ReplyTo: "m1"})
	st.became("m1", substrat.Answered)
	st.queue("coder")
	st.end(coder, substrat.Completed, "")
	st.ready("lead")
	if m := st.s.Messages["r1"]; m.Hops != 2 || m.Cause != "m1" {
		t.Errorf("the reply has hops %d and cause %q, want 2, m1", m.Hops, m.Cause)
	}
}

func TestReplyAfterTheDeadline(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	st.now = st.now.Add(st.lim.ReplyDeadline)
	st.must(user, Expire{})
	st.refused(coder, Send{ID: "r", Recipient: "lead", Text: "late", ReplyTo: "m1"}, substrat.CodeConflict, "or have expired")
	st.end(coder, substrat.Completed, "too late")
	st.queue("lead", derive("m1", "expired"))
	st.became("m1", substrat.Expired)
}

func TestMessagesAreRefused(t *testing.T) {
	st := tell(t)
	st.lim.TextBytes, st.lim.QueueLen = 10, 3
	coder := st.busy("coder", "t1")
	send := func(text string) Send { return Send{ID: "x", Recipient: "lead", Text: text} }
	st.refused(coder, send(""), substrat.CodeInvalid, "an empty message")
	st.refused(coder, send(" \n\t"), substrat.CodeInvalid, "an empty message")
	st.refused(coder, send("12345678901"), substrat.CodeTooLarge, "at most 10")
	st.refused(coder, send("a\xff"), substrat.CodeInvalid, "not UTF-8")
	st.refused(coder, SendAll{ID: "x", Text: "a\xff"}, substrat.CodeInvalid, "not UTF-8")
	st.refused(user, Send{ID: "x", To: "gone", Text: "hi"}, substrat.CodeNotFound, "no such agent")
	st.refused(user, Send{To: "coder", Text: "hi"}, substrat.CodeInternal, "id is in use")
	for _, id := range []string{"a", "b", "c"} {
		st.tellAgent("lead", id)
	}
	st.refused(user, Send{ID: "a", To: "coder", Text: "hi"}, substrat.CodeInternal, "id is in use")
	st.refused(user, Send{ID: "d", To: "lead", Text: "hi"}, substrat.CodeLimit, "holds 3 messages")
	st.refused(coder, send("hi"), substrat.CodeLimit, "holds 3 messages")
	st.must(user, Create{ID: "h", Name: "h", Parent: "lead"})
	for _, id := range []string{"ha", "hb", "hc"} {
		st.tellAgent("h", id)
	}
	st.refused(coder, SendAll{ID: "x", Text: "hi"}, substrat.CodeLimit, "cannot send to h")
	st.queue("critic")
}

// A reply gets into a full mailbox, and past the hop limit: somebody waits for it.
func TestRepliesAlwaysPass(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	st.asking("m2")
	coder, _ := st.turn("coder", "t2")
	st.lim.Hops, st.lim.QueueLen = 1, 0
	st.must(coder, Send{ID: "r1", Recipient: "lead", Text: "answer", ReplyTo: "m1"})
	st.refused(coder, Send{ID: "x", Recipient: "lead", Text: "more"}, substrat.CodeLimit, "the user has to continue")
	st.refused(coder, SendAll{ID: "x", Text: "more"}, substrat.CodeLimit, "the user has to continue")
	st.end(coder, substrat.Completed, "closing")
	st.queue("lead", "r1", derive("m2", "reply"))
}

func TestNoticesPassTheHopLimit(t *testing.T) {
	st := tell(t)
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	st.lim.Hops, st.lim.Attempts, st.lim.QueueLen = 0, 1, 0
	st.end(coder, substrat.FailedTurn, "broke")
	st.queue("lead", derive("t2", "failed"), derive("m1", "refused"))
	lead, _ := st.turn("lead", "t3")
	st.must(lead, Send{ID: "m", Recipient: substrat.User, Text: "it is over"})
}

// The chain is counted from the user, the same for every pair of agents that keep each other busy.
func TestHopLimit(t *testing.T) {
	for name, sync := range map[string]bool{"notifications": false, "requests": true} {
		t.Run(name, func(t *testing.T) {
			st := tell(t)
			st.lim.Hops = 6
			st.tellAgent("coder", "u")
			for i := 0; ; i++ {
				if i > 20 {
					t.Fatal("the chain of messages never ended")
				}
				refused := 0
				for _, r := range st.s.ReadyAgents(st.now) {
					a, _ := st.turn(r.Agent, st.id())
					other := map[string]string{"coder": "critic", "critic": "coder"}[r.Agent]
					if _, _, err := st.do(a, "", Send{ID: st.id(), Recipient: other, Text: "ping", Sync: sync}); err != nil {
						if substrat.CodeOf(err) != substrat.CodeLimit {
							t.Fatal(err)
						}
						refused++
					}
					st.end(a, substrat.Completed, "pong")
				}
				if refused == 0 {
					continue
				}
				if i != 6 && !sync {
					t.Errorf("refused in round %d", i)
				}
				break
			}
		})
	}
}

func TestTheUserBeginsAChain(t *testing.T) {
	st := tell(t)
	st.lim.Hops = 1
	st.asking("m1")
	coder, _ := st.turn("coder", "t2")
	st.refused(coder, Send{ID: "x", Recipient: "critic", Text: "look"}, substrat.CodeLimit, "this chain of messages is 1 long")
	st.end(coder, substrat.Completed, "")
	coder = st.busy("coder", "t3")
	st.must(coder, Send{ID: "x", Recipient: "critic", Text: "look"})
}

// What a turn sends goes on from the message that woke it, also when that one is settled by then.
func TestChainOutlivesItsCause(t *testing.T) {
	for name, settle := range map[string]func(st *story, coder Actor){
		"answered": func(st *story, coder Actor) {
			st.must(coder, Send{ID: "r", Recipient: "lead", Text: "answer", ReplyTo: "m1"})
		},
		"expired": func(st *story, _ Actor) {
			st.now = st.now.Add(st.lim.ReplyDeadline)
			st.must(user, Expire{})
		},
		"snapshot": func(st *story, _ Actor) { st.restart(true) },
	} {
		t.Run(name, func(t *testing.T) {
			st := tell(t)
			st.asking("m1")
			coder, _ := st.turn("coder", "t2")
			settle(st, coder)
			st.must(coder, Send{ID: "n", Recipient: "critic", Text: "look"})
			if m := st.s.Messages["n"]; m.Hops != 2 || m.Cause != "m1" {
				t.Errorf("hops %d, cause %q; want 2, m1", m.Hops, m.Cause)
			}
		})
	}
}

func TestTakenMailLengthensTheChain(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	st.asking("m1")
	st.must(coder, Take{})
	st.must(coder, Send{ID: "n", Recipient: "critic", Text: "look"})
	if m := st.s.Messages["n"]; m.Hops != 2 || m.Cause != "m1" {
		t.Errorf("hops %d, cause %q; want 2, m1", m.Hops, m.Cause)
	}
}
