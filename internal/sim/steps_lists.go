package sim

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// todo is one entry of the agent's list.
type todo struct{ id, content, status string }

// todoStep sets the list, or with "merge" changes it by id.
func (t *turn) todoStep(s step) error {
	list, merge := readTodos(s.value), s.flag("merge")
	return t.simple("updateTodos", "TodoWrite",
		func(string) object { return object{{"todos", todoObjects(list)}, {"merge", merge}} },
		func() outcome {
			t.mergeTodos(list, merge)
			return succeeded("Todos updated.",
				field{"todos", todoObjects(t.todos)}, field{"totalCount", len(t.todos)}, field{"wasMerge", merge})
		})
}

func (t *turn) mergeTodos(list []todo, merge bool) {
	if !merge {
		t.todos = list
		return
	}
	for _, entry := range list {
		known := false
		for i := range t.todos {
			if t.todos[i].id != entry.id {
				continue
			}
			known = true
			if entry.content != "" {
				t.todos[i].content = entry.content
			}
			t.todos[i].status = entry.status
		}
		if !known {
			t.todos = append(t.todos, entry)
		}
	}
}

// readTodos takes entries as objects, or as strings for pending ones.
func readTodos(value jsontext.Value) (list []todo) {
	for i, item := range elements(value) {
		entry := todo{id: strconv.Itoa(i + 1), status: "pending"}
		if m, ok := members(item); ok {
			entry.content = getString(m, "content")
			if id := getString(m, "id"); id != "" {
				entry.id = id
			}
			if status := getString(m, "status"); status != "" {
				entry.status = status
			}
		} else {
			entry.content = plainText(item)
		}
		list = append(list, entry)
	}
	return list
}

func todoObjects(list []todo) []object {
	stamp := strconv.FormatInt(now(), 10)
	out := []object{}
	for _, e := range list {
		out = append(out, object{
			{"id", e.id}, {"content", e.content}, {"status", "TODO_STATUS_" + strings.ToUpper(e.status)},
			{"createdAt", stamp}, {"updatedAt", stamp}, {"dependencies", []any{}},
		})
	}
	return out
}

const skipped = "Questions skipped by the user, continue with the information you already have"

// askStep asks a question, which in print mode nobody answers.
func (t *turn) askStep(s step) error {
	t.sealText()
	if err := t.flush(beforeQuery); err != nil {
		return err
	}
	c, err := t.open("askQuestion", "AskQuestion")
	if err != nil {
		return err
	}
	args := object{
		{"title", s.text("title")}, {"questions", questions(s)}, {"runAsync", false}, {"asyncOriginalToolCallId", ""},
	}
	rejected := object{{"rejected", object{{"reason", skipped}}}}
	err = t.query("askQuestionInteractionQuery",
		func(int) object { return object{{"args", args}, {"toolCallId", c.id}} }, object{{"result", rejected}})
	if err != nil {
		return err
	}
	if err := t.toolStarted(c, args); err != nil {
		return err
	}
	return t.finish(c, outcome{result: rejected, text: skipped, failed: true, rejected: true})
}

// questions takes one question as a string with "options" beside it, or an object or list in the wire's own form.
func questions(s step) []any {
	switch s.value.Kind() {
	case '[':
		return anyList(elements(s.value))
	case '{':
		m, _ := members(s.value)
		if inner := get(m, "questions"); inner.Kind() == '[' {
			return anyList(elements(inner))
		}
		return []any{s.value}
	}
	options := []object{}
	for i, o := range elements(get(s.members, "options")) {
		options = append(options, object{{"id", strconv.Itoa(i + 1)}, {"label", plainText(o)}})
	}
	return []any{object{
		{"id", "1"}, {"prompt", plainText(s.value)}, {"options", options}, {"allowMultiple", s.flag("multiple")},
	}}
}

func anyList(values []jsontext.Value) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return list
}

// planStep proposes a plan, which in print mode is accepted at once.
func (t *turn) planStep(s step) error {
	c, err := t.open("createPlan", "CreatePlan")
	if err != nil {
		return err
	}
	args := object{
		{"plan", plainText(s.value)}, {"todos", todoObjects(readTodos(get(s.members, "todos")))},
		{"overview", s.text("overview")}, {"name", s.text("name")}, {"isProject", false}, {"phases", []any{}},
	}
	done := object{{"result", object{{"success", object{}}}}, {"planUri", ""}}
	err = t.query("createPlanRequestQuery",
		func(int) object { return object{{"args", args}, {"toolCallId", c.id}} }, done)
	if err != nil {
		return err
	}
	if err := t.toolStarted(c, args); err != nil {
		return err
	}
	return t.finish(c, outcome{result: object{{"success", object{}}, {"planUri", ""}}, text: "The plan was accepted."})
}

// elements gives the members of a JSON array, none of anything else.
func elements(value jsontext.Value) (list []jsontext.Value) {
	dec := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		return nil
	}
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			return list
		}
		list = append(list, item.Clone())
	}
	return list
}
