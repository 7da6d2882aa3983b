package team

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"substrat.dev/substrat"
)

func TestQuestion(t *testing.T) {
	st := tell(t)
	st.must(operator("coder"), Ask{ID: "q1", Question: "red or blue?", Options: []string{"red", "blue"}})
	st.state("coder", substrat.Waiting)
	if v := st.s.View("coder"); len(v.WaitingFor) != 1 || v.WaitingFor[0] != substrat.User {
		t.Errorf("waiting for %v", v.WaitingFor)
	}
	st.refused(user, AnswerItem{ID: "q1", Answer: substrat.Answer{Choices: []string{"green"}}}, substrat.CodeInvalid, "none of its options")
	st.refused(user, AnswerItem{ID: "q1", Answer: substrat.Answer{Choices: []string{"red", "blue"}}}, substrat.CodeInvalid, "one choice")
	st.refused(user, AnswerItem{ID: "q1", Answer: substrat.Answer{Text: "red"}}, substrat.CodeInvalid, "takes a choice")
	st.refused(operator("lead"), AnswerItem{ID: "q1", Answer: substrat.Answer{Choices: []string{"red"}}}, substrat.CodeForbidden, "only a person")
	st.must(user, AnswerItem{ID: "q1", Answer: substrat.Answer{Choices: []string{"red"}, Text: "dark"}})
	st.refused(user, AnswerItem{ID: "q1", Answer: substrat.Answer{Choices: []string{"red"}}}, substrat.CodeConflict, "not open")
	st.says(st.prompts("coder"), "Message from USER", "red\ndark", "answer to your question q1")
	if x := st.items["q1"]; x.State != substrat.ItemAnswered || x.By != substrat.User {
		t.Errorf("%+v", x)
	}
}

func TestQuestionNobodyAnswers(t *testing.T) {
	st := tell(t)
	st.must(operator("coder"), Ask{ID: "q1", Question: "red or blue?", Options: []string{"red", "blue"}, Default: "blue", Within: time.Minute})
	st.must(operator("critic"), Ask{ID: "q2", Question: "why?", Within: time.Minute})
	st.later()
	st.must(user, Expire{})
	st.says(st.prompts("coder"), "blue", "Message from system")
	st.says(fmt.Sprint(st.s.Agents["critic"].Heard), "Nobody answered question q2")
	if st.items["q1"].State != substrat.ItemExpired || st.items["q2"].State != substrat.ItemExpired {
		t.Errorf("%+v", st.items)
	}
}

func TestQuestionOfOneWhoEnds(t *testing.T) {
	st := tell(t)
	st.must(operator("coder"), Ask{ID: "q1", Question: "why?"})
	st.must(user, Terminate{Agent: "coder"})
	if st.items["q1"].State != substrat.ItemWithdrawn || len(st.s.Items) != 0 {
		t.Errorf("%+v", st.items)
	}
}

func TestPermission(t *testing.T) {
	st := tell(t)
	input := json.RawMessage(`{"name": "critic"}`)
	first := st.must(operator("lead"), RequestPermission{ID: "p1", Tool: "terminate_agent", Input: input, Rule: "rule 1"})
	if again := st.must(operator("lead"), RequestPermission{ID: "p2", Tool: "terminate_agent", Input: json.RawMessage(`{"name":"critic"}`)}); again != first {
		t.Errorf("the same call is asked for twice: %s, %s", first, again)
	}
	if st.s.Granted("lead", "terminate_agent", input) != "" {
		t.Error("it is allowed before anybody answered")
	}
	st.must(user, AnswerItem{ID: "p1", Answer: substrat.Answer{Choices: []string{"allow"}}})
	if st.s.Granted("lead", "terminate_agent", json.RawMessage(`{"name":"coder"}`)) != "" {
		t.Error("another call is allowed")
	}
	grant := st.s.Granted("lead", "terminate_agent", input)
	entries, _, err := Decide(st.s, Meta{At: st.now, Actor: operator("lead"), Limits: st.lim, Grant: grant}, Terminate{Agent: "critic"})
	if grant != "p1" || err != nil {
		t.Fatalf("grant %q, %v", grant, err)
	}
	for _, e := range entries {
		st.apply(e)
	}
	if st.s.Granted("lead", "terminate_agent", input) != "" {
		t.Error("it is allowed twice")
	}
}

// holding keeps what says so for a person.
func holding(m *substrat.Message) string {
	if m.Text == "psst" {
		return "rule 7"
	}
	return ""
}

func TestHeldMessage(t *testing.T) {
	for _, decision := range []struct {
		answer substrat.Answer
		hears  string
		state  substrat.MessageState
	}{
		{substrat.Answer{Choices: []string{"release"}}, "psst", substrat.Queued},
		{substrat.Answer{Choices: []string{"release"}, Text: "hello"}, "hello", substrat.Queued},
		{substrat.Answer{Choices: []string{"reject"}, Text: "too loud"}, "", substrat.Dead},
	} {
		st := tell(t)
		st.keep = holding
		sent := decoded[substrat.Sent](st, st.must(operator("coder"), Send{ID: "m", Recipient: "critic", Text: "psst", Sync: true}))
		if sent.State != substrat.Held || !sent.WaitingForReply {
			t.Errorf("%+v", sent)
		}
		st.ready()
		st.restart(true)
		item := st.s.Messages["m"].Item
		st.says(st.s.Items[item].Text, "lead/coder to lead/critic", "rule 7")
		st.must(user, AnswerItem{ID: item, Answer: decision.answer})
		if decision.state == substrat.Dead {
			st.became("m", substrat.Dead)
			st.state("coder", substrat.Idle)
			st.says(st.prompts("coder"), "was not delivered", "too loud")
			continue
		}
		st.queue("critic", "m")
		st.says(st.s.Messages["m"].Detail, "released by USER")
		st.says(st.prompts("critic"), decision.hears)
		st.became("m", substrat.Answered)
	}
}

// TestHeldReply: who asked waits on while the reply is held, and is told when it is rejected.
func TestHeldReply(t *testing.T) {
	st := tell(t)
	st.keep = holding
	st.asking("m1")
	critic, _ := st.turn("coder", "t1")
	st.end(critic, substrat.Completed, "psst")
	st.state("lead", substrat.Waiting)
	var item string
	for id := range st.s.Items {
		item = id
	}
	st.must(user, AnswerItem{ID: item, Answer: substrat.Answer{Choices: []string{"reject"}}})
	st.says(st.prompts("lead"), "No reply from coder to message m1")
	st.state("lead", substrat.Idle)
	if len(st.s.Messages) != 0 {
		t.Errorf("%d messages are left", len(st.s.Messages))
	}
}
