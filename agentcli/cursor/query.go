package cursor

import (
	"strings"

	"substrat.dev/substrat/agentcli"
)

// todo reads one entry of the agent's list.
func todo(v value) agentcli.Todo {
	var space room
	f := fieldsOf(v, &space)
	return agentcli.Todo{ID: f.str("id"), Content: f.str("content"), Status: strings.ToLower(strings.TrimPrefix(f.str("status"), "TODO_STATUS_"))}
}

func todosOf(v value) []agentcli.Todo {
	var todos []agentcli.Todo
	each(v, func(v value) { todos = append(todos, todo(v)) })
	return todos
}

// todos emits the list as it stands after a call: results carry the merged list, arguments only what was asked for.
func (d *Decoder) todos(env *envelope, a *args, f *frame) error {
	list := in(in(env.result, "success"), "todos")
	if list == nil {
		list = a.todos
	}
	return d.send(agentcli.Event{Type: agentcli.EventTodos, Todos: todosOf(list), TimeMS: integer(f.timestamp), Raw: f.raw})
}

// plan emits a plan, once: it comes with a query and with the tool call that the query is about.
func (d *Decoder) plan(v value, a *args, f *frame) error {
	text := planText(v)
	if text == "" || text == d.planned {
		return nil
	}
	d.planned = text
	todos := todosOf(a.todos)
	if len(todos) == 0 {
		each(in(v, "phases"), func(phase value) { todos = append(todos, todosOf(in(phase, "todos"))...) })
	}
	return d.send(agentcli.Event{Type: agentcli.EventPlan, Text: text, Todos: todos, TimeMS: integer(f.timestamp), Raw: f.raw})
}

func planText(v value) string {
	var space room
	return fieldsOf(v, &space).str("plan", "overview", "name")
}

// The options that every query has in print mode; the CLI takes one of them itself.
var approval = []agentcli.Option{
	{ID: "approved", Label: "Approve", Kind: agentcli.AllowOnce},
	{ID: "rejected", Label: "Reject", Kind: agentcli.RejectOnce},
}

// query tells what the CLI asks and, in print mode, answers itself in the same moment.
func (d *Decoder) query(f *frame) error {
	if err := d.endSegment(f); err != nil {
		return err
	}
	kind := str(f.queryType)
	switch f.subtype {
	case "request":
		return d.ask(kind, f)
	case "response":
		return d.answer(kind, f)
	}
	return d.unknown(f)
}

// ask emits the question that a query is. A plan is told before it is asked about.
func (d *Decoder) ask(kind string, f *frame) error {
	body := in(f.query, kind)
	var space room
	inner := fieldsOf(body, &space)
	a := argsOf(inner.get("args"))
	e := agentcli.Event{Type: agentcli.EventPermission, TimeMS: integer(f.timestamp), Raw: f.raw}
	q := &agentcli.Question{ID: queryID(f.query, inner)}
	e.Ask = q
	switch kind {
	case "askQuestionInteractionQuery":
		e.Type, q.Kind, q.Title = agentcli.EventQuestion, agentcli.AskQuestion, str(in(inner.get("args"), "title"))
		q.Prompts = prompts(in(inner.get("args"), "questions"))
		return d.send(e)
	case "createPlanRequestQuery":
		if err := d.plan(inner.get("args"), &a, f); err != nil {
			return err
		}
		q.Kind, q.Title, q.Text = agentcli.AskPlan, "Approve the plan?", planText(inner.get("args"))
	default:
		q.Kind = agentcli.AskPermission
		native := strings.TrimSuffix(kind, "RequestQuery")
		env := envelope{native: native, args: inner.get("args"), id: inner.get("toolCallId")}
		call := describe(&env, &a)
		q.Tool, q.Title = &call.ToolCall, strings.TrimSpace(call.Name+" "+call.Title)
	}
	q.Prompts = []agentcli.QuestionPrompt{{ID: "decision", Prompt: q.Title, Options: approval}}
	e.Text = q.Title
	return d.send(e)
}

// queryID names a query: its number is unique in the process, which is one turn.
func queryID(query value, inner fields) string {
	if id := in(query, "id"); id != nil {
		if s := str(id); s != "" {
			return s
		}
		return itoa(integer(id))
	}
	return inner.str("toolCallId")
}

func prompts(v value) []agentcli.QuestionPrompt {
	var out []agentcli.QuestionPrompt
	each(v, func(p value) {
		var space room
		f := fieldsOf(p, &space)
		prompt := agentcli.QuestionPrompt{ID: f.str("id"), Prompt: f.str("prompt"), Multiple: boolean(f.get("allowMultiple"))}
		each(f.get("options"), func(o value) {
			var space room
			option := fieldsOf(o, &space)
			prompt.Options = append(prompt.Options, agentcli.Option{ID: option.str("id"), Label: option.str("label", "id")})
		})
		out = append(out, prompt)
	})
	return out
}

// answer tells what became of a query: {"approved":{}}, {"rejected":{"reason"}}, or these and more below "result".
func (d *Decoder) answer(kind string, f *frame) error {
	a := &agentcli.Answer{ID: queryID(f.response, nil), Outcome: agentcli.Skipped}
	var said value
	for w := members(f.response); ; {
		name, v, ok := w.member()
		if !ok {
			break
		}
		if string(name) != "id" && len(v) > 0 && v[0] == '{' {
			said = v
		}
	}
	if result := in(said, "result"); result != nil {
		said = result
	}
	chosen := ""
	for w := members(said); chosen == ""; {
		name, v, ok := w.member()
		if !ok {
			break
		}
		switch string(name) {
		case "approved", "success", "accepted", "allowed":
			chosen = "approved"
		case "rejected", "error", "cancelled":
			chosen, a.Text = "rejected", str(in(v, "reason"))
		}
		if kind == "askQuestionInteractionQuery" && chosen == "approved" {
			a.Outcome, a.Choices = agentcli.Answered, choices(in(v, "answers"))
		}
	}
	if kind != "askQuestionInteractionQuery" && chosen != "" {
		a.Outcome, a.Choices = agentcli.Answered, map[string][]string{"decision": {chosen}}
	}
	return d.send(agentcli.Event{Type: agentcli.EventAnswer, Answer: a, Text: strings.TrimSpace(chosen + " " + a.Text), TimeMS: integer(f.timestamp), Raw: f.raw})
}

// choices reads the answers to questions: [{"questionId","selectedOptionIds":[…]}].
func choices(v value) map[string][]string {
	var out map[string][]string
	each(v, func(v value) {
		if out == nil {
			out = map[string][]string{}
		}
		id := str(in(v, "questionId"))
		each(in(v, "selectedOptionIds"), func(o value) { out[id] = append(out[id], str(o)) })
	})
	return out
}
