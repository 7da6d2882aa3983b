package engine

import (
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

func TestStopwatch(t *testing.T) {
	var s stopwatch
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	s.begin(at(10))
	s.begin(at(12))
	if total, last := s.read(at(13)); total != 3*time.Second || !last.Equal(at(13)) {
		t.Errorf("while it goes on: %v %v", total, last)
	}
	s.end(at(14))
	s.end(at(20))
	s.begin(at(30))
	s.end(at(31))
	if total, last := s.read(at(99)); total != 11*time.Second || !last.Equal(at(31)) {
		t.Errorf("afterwards: %v %v", total, last)
	}
}

// TestTake: what a person chose becomes the agent's own option, whatever the agent calls it.
// TestCommandOf: rules are about the command, however a CLI would run it.
func TestCommandOf(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"git push"}`:                            "git push",
		`{"command":["git","push"]}`:                        "git push",
		`{"command":["/bin/bash","-lc","git push origin"]}`: "git push origin",
		`{"command":["sh","-c","git push"],"cwd":"/w"}`:     "git push",
		`{"command":["python3","-c","git push"]}`:           "python3 -c git push",
		`{"command":["sh","-c","echo \"$0\"","git"]}`:       `sh -c echo "$0" git`,
		`{}`: "its title",
	} {
		if got := commandOf(&agentcli.ToolCall{Title: "`its title`", Input: []byte(input)}); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

func TestTake(t *testing.T) {
	permission := agentcli.Question{ID: "q", Kind: agentcli.AskPermission, Prompts: []agentcli.QuestionPrompt{{ID: "p", Options: []agentcli.Option{
		{ID: "nope", Kind: agentcli.RejectOnce}, {ID: "proceed_always", Kind: agentcli.AllowAlways}, {ID: "proceed_once", Kind: agentcli.AllowOnce},
	}}}}
	question := agentcli.Question{ID: "q", Kind: agentcli.AskQuestion, Prompts: []agentcli.QuestionPrompt{{ID: "p", Multiple: true, Options: []agentcli.Option{
		{ID: "1", Label: "same"}, {ID: "2", Label: "same"}, {ID: "3", Label: "other"},
	}}}}
	for name, c := range map[string]struct {
		q      agentcli.Question
		answer *substrat.Answer
		want   []string
		say    agentcli.AnswerOutcome
	}{
		"allow":     {permission, &substrat.Answer{Choices: []string{choiceAllow}}, []string{"proceed_once"}, agentcli.Answered},
		"always":    {permission, &substrat.Answer{Choices: []string{choiceAlways}}, []string{"proceed_once"}, agentcli.Answered},
		"deny":      {permission, &substrat.Answer{Choices: []string{choiceDeny}}, []string{"nope"}, agentcli.Answered},
		"two":       {question, &substrat.Answer{Choices: []string{"same [2]", "other"}}, []string{"2", "3"}, agentcli.Answered},
		"text":      {question, &substrat.Answer{Text: "neither"}, nil, agentcli.Answered},
		"withdrawn": {question, nil, nil, agentcli.Withdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			x := substrat.Item{State: substrat.ItemAnswered, Answer: c.answer}
			if c.answer == nil {
				x.State = substrat.ItemWithdrawn
			}
			got := agentcli.Answer{ID: "q", Outcome: agentcli.Skipped, Choices: map[string][]string{}}
			take(&got, c.q, c.q.Prompts[0], x)
			if got.Outcome != c.say || len(got.Choices["p"]) != len(c.want) {
				t.Fatalf("%+v", got)
			}
			for i, id := range c.want {
				if got.Choices["p"][i] != id {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}

// TestContent: T7. What is approved is all of a call, but for what says when it was made: one byte more is another.
func TestContent(t *testing.T) {
	call := func(change func(*agentcli.ToolCall)) agentcli.Question {
		x := &agentcli.ToolCall{ID: "1", Name: "Bash", Kind: "execute", Title: "git push", Input: []byte(`{"command":"git push","cwd":"/w"}`), Paths: []string{"a"}, Diff: "+x"}
		change(x)
		return agentcli.Question{ID: x.ID, Kind: agentcli.AskPermission, Title: "may I?", Tool: x}
	}
	same := contentOf(call(func(*agentcli.ToolCall) {}))
	if got := contentOf(call(func(x *agentcli.ToolCall) { x.ID, x.Status = "2", "pending" })); got != same {
		t.Error("the same call a second time is another")
	}
	for name, change := range map[string]func(*agentcli.ToolCall){
		"command": func(x *agentcli.ToolCall) { x.Input = []byte(`{"command":"git push ","cwd":"/w"}`) },
		"place":   func(x *agentcli.ToolCall) { x.Input = []byte(`{"command":"git push","cwd":"/v"}`) },
		"title":   func(x *agentcli.ToolCall) { x.Title = "git pull" },
		"tool":    func(x *agentcli.ToolCall) { x.Name = "Shell" },
		"server":  func(x *agentcli.ToolCall) { x.Server = "other" },
		"paths":   func(x *agentcli.ToolCall) { x.Paths = []string{"a", "b"} },
		"diff":    func(x *agentcli.ToolCall) { x.Diff = "+y" },
	} {
		if contentOf(call(change)) == same {
			t.Errorf("another %s is the same content", name)
		}
	}
}
