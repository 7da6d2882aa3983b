package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"substrat.dev/substrat/agentcli"
)

// What Cursor's CLI adds to the protocol, as its documentation of "agent acp" says: two requests that wait for a person,
// and three that only tell, as notifications or as requests.

// cursorQuestion is cursor/ask_question.
type cursorQuestion struct {
	ToolCallID string `json:"toolCallId"`
	Title      string `json:"title"`
	Questions  []struct {
		ID       string `json:"id"`
		Prompt   string `json:"prompt"`
		Multiple bool   `json:"allowMultiple"`
		Options  []struct {
			ID    string `json:"id"`
			Label string `json:"label"`
		} `json:"options"`
	} `json:"questions"`
}

// cursorAnswer is the answer to one of its questions.
type cursorAnswer struct {
	Question string   `json:"questionId"`
	Selected []string `json:"selectedOptionIds"`
}

type cursorTodo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

// cursorPlan is cursor/create_plan.
type cursorPlan struct {
	ToolCallID string       `json:"toolCallId"`
	Name       string       `json:"name"`
	Overview   string       `json:"overview"`
	Plan       string       `json:"plan"`
	Todos      []cursorTodo `json:"todos"`
	Phases     []struct {
		Name  string       `json:"name"`
		Todos []cursorTodo `json:"todos"`
	} `json:"phases"`
}

// planPrompt is the id of the one prompt of a plan; its options are named like the outcomes.
const planPrompt = "plan"

// cursorAsks takes the requests that wait for a person.
func (t *turn) cursorAsks(m message) error {
	if m.Method == "cursor/create_plan" {
		return t.cursorPlan(m)
	}
	var c cursorQuestion
	if json.Unmarshal(m.Params, &c) != nil || len(c.Questions) == 0 {
		return t.refuseAsk(m, "a question that makes no sense")
	}
	q := agentcli.Question{ID: string(m.ID), Kind: agentcli.AskQuestion, Title: c.Title}
	for _, x := range c.Questions {
		p := agentcli.QuestionPrompt{ID: x.ID, Prompt: x.Prompt, Multiple: x.Multiple}
		for _, o := range x.Options {
			p.Options = append(p.Options, agentcli.Option{ID: o.ID, Label: firstOf(o.Label, o.ID)})
		}
		q.Prompts = append(q.Prompts, p)
	}
	return t.ask(m, agentcli.EventQuestion, q)
}

func (t *turn) cursorPlan(m message) error {
	var c cursorPlan
	if json.Unmarshal(m.Params, &c) != nil {
		return t.refuseAsk(m, "a plan that makes no sense")
	}
	text := c.Plan
	if c.Overview != "" && !strings.Contains(text, c.Overview) {
		text = strings.TrimSpace(c.Overview + "\n\n" + text)
	}
	todos := todosOf(c.Todos)
	for _, p := range c.Phases {
		text += "\n\n" + p.Name + ":"
		for _, d := range p.Todos {
			text += "\n- " + d.Content
		}
	}
	if err := t.send(agentcli.Event{Type: agentcli.EventPlan, Text: text, Todos: todos}); err != nil {
		return err
	}
	q := agentcli.Question{ID: string(m.ID), Kind: agentcli.AskPlan, Title: firstOf(c.Name, "A plan"), Text: text, Prompts: []agentcli.QuestionPrompt{{
		ID: planPrompt, Prompt: "Shall it go on by this plan?", Options: []agentcli.Option{
			{ID: "accepted", Label: "accept", Kind: agentcli.AllowOnce}, {ID: "rejected", Label: "reject", Kind: agentcli.RejectOnce},
		},
	}}}
	return t.ask(m, agentcli.EventPermission, q)
}

func todosOf(list []cursorTodo) []agentcli.Todo {
	out := make([]agentcli.Todo, len(list))
	for i, d := range list {
		out[i] = agentcli.Todo(d)
	}
	return out
}

// cursorOutcome is the answer to a question or a plan in Cursor's shape.
func cursorOutcome(q agentcli.Question, a agentcli.Answer) outcome {
	if a.Outcome == agentcli.Withdrawn {
		return outcome{Outcome: "cancelled"}
	}
	if q.Kind == agentcli.AskPlan {
		o := outcome{Outcome: "rejected", Reason: a.Text}
		if chosen := q.Chosen(a, planPrompt); chosen != nil && chosen.Kind == agentcli.AllowOnce {
			o = outcome{Outcome: "accepted"}
		} else if a.Outcome == agentcli.Skipped && o.Reason == "" {
			o.Reason = "nobody looked at it"
		}
		return o
	}
	if a.Outcome != agentcli.Answered {
		return outcome{Outcome: "skipped", Reason: a.Text}
	}
	o := outcome{Outcome: "answered", Answers: []cursorAnswer{}}
	for _, p := range q.Prompts {
		selected := a.Choices[p.ID]
		if selected == nil {
			selected = []string{}
		}
		o.Answers = append(o.Answers, cursorAnswer{p.ID, selected})
	}
	if a.Text != "" && len(a.Choices) == 0 {
		// Its shape has no place for a text: the reason of a skip is what reaches the model.
		return outcome{Outcome: "skipped", Reason: a.Text}
	}
	return o
}

// cursorTells takes what only tells, but as a request: it is answered as done.
func (t *turn) cursorTells(ctx context.Context, m message) error {
	if err := t.cursorNotified(m); err != nil {
		return err
	}
	var p struct {
		FilePath string `json:"filePath"`
	}
	_ = json.Unmarshal(m.Params, &p)
	done := cursorDone{Outcome: "completed"}
	switch m.Method {
	case "cursor/update_todos":
		done = cursorDone{Outcome: "accepted", Todos: &[]cursorTodo{}}
		for _, d := range t.todos {
			*done.Todos = append(*done.Todos, cursorTodo(d))
		}
	case "cursor/generate_image":
		done = cursorDone{Outcome: "generated", FilePath: p.FilePath}
	}
	return t.respond(ctx, m, map[string]any{"outcome": done}, nil)
}

// cursorDone answers one of them.
type cursorDone struct {
	Outcome  string        `json:"outcome"`
	Todos    *[]cursorTodo `json:"todos,omitempty"`
	FilePath string        `json:"filePath,omitempty"`
}

// cursorNotified takes the notifications.
func (t *turn) cursorNotified(m message) error {
	switch m.Method {
	case "cursor/update_todos":
		var p struct {
			Todos []cursorTodo `json:"todos"`
			Merge bool         `json:"merge"`
		}
		if json.Unmarshal(m.Params, &p) != nil {
			return t.notice("todos that make no sense")
		}
		t.mergeTodos(todosOf(p.Todos), p.Merge)
		return t.send(agentcli.Event{Type: agentcli.EventTodos, Todos: append([]agentcli.Todo(nil), t.todos...)})
	case "cursor/task":
		var p struct {
			ToolCallID   string `json:"toolCallId"`
			Description  string `json:"description"`
			Prompt       string `json:"prompt"`
			SubagentType any    `json:"subagentType"`
			DurationMS   int64  `json:"durationMs"`
		}
		_ = json.Unmarshal(m.Params, &p)
		return t.callDone(p.ToolCallID, "Task", "think", firstOf(p.Description, clip(p.Prompt)), m.Params)
	case "cursor/generate_image":
		var p struct {
			ToolCallID  string `json:"toolCallId"`
			Description string `json:"description"`
			FilePath    string `json:"filePath"`
		}
		_ = json.Unmarshal(m.Params, &p)
		return t.callDone(p.ToolCallID, "Image", "other", firstOf(p.FilePath, p.Description), m.Params)
	}
	return t.notice("notification " + clip(m.Method))
}

// mergeTodos replaces the list, or the entries of it that are named.
func (t *turn) mergeTodos(list []agentcli.Todo, merge bool) {
	if !merge {
		t.todos = list
		return
	}
	for _, d := range list {
		found := false
		for i := range t.todos {
			if t.todos[i].ID == d.ID {
				found = true
				t.todos[i].Status = d.Status
				if d.Content != "" {
					t.todos[i].Content = d.Content
				}
			}
		}
		if !found {
			t.todos = append(t.todos, d)
		}
	}
}

// callDone is a call of which only the end is told.
func (t *turn) callDone(id, name, kind, title string, input json.RawMessage) error {
	if id == "" {
		id = fmt.Sprintf("%s-%d", strings.ToLower(name), len(t.order)+1)
	}
	if c := t.calls[id]; c != nil {
		c.Name = name
		if c.Status == agentcli.ToolRunning {
			c.Status = agentcli.ToolOK
			return t.ended(c)
		}
		return nil
	}
	c := &agentcli.ToolCall{ID: id, Name: name, Native: name, Kind: kind, Title: clip(title), Input: input, Status: agentcli.ToolRunning}
	t.calls[id] = c
	t.order = append(t.order, id)
	if err := t.sendTool(agentcli.EventToolStart, c, agentcli.ToolRunning); err != nil {
		return err
	}
	c.Status = agentcli.ToolOK
	return t.ended(c)
}
