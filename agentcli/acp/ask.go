package acp

import (
	"context"
	"encoding/json"

	"substrat.dev/substrat/agentcli"
)

// request deals with a request of the agent's.
func (t *turn) request(ctx context.Context, m message) error {
	switch m.Method {
	case "session/request_permission":
		return t.permission(m)
	case "cursor/ask_question", "cursor/create_plan":
		return t.cursorAsks(m)
	case "cursor/update_todos", "cursor/task", "cursor/generate_image":
		return t.cursorTells(ctx, m)
	case methodElicit:
		return t.decline(ctx, m)
	}
	if !t.live {
		return nil
	}
	result, e := t.serve(m)
	if e == errLater {
		return nil
	}
	if e != nil && e.Code == codeMethodNotFound {
		if err := t.notice("the agent asks for " + clip(m.Method) + ", which is not served"); err != nil {
			return err
		}
	}
	return t.respond(ctx, m, result, e)
}

// respond answers a request, unless it is only told of. An agent that no longer reads has said why, or is about to.
func (t *turn) respond(ctx context.Context, m message, result any, e *rpcError) error {
	if !t.live {
		return nil
	}
	if err := t.reply(ctx, m.ID, result, e); err != nil && !gone(err) {
		return err
	}
	return nil
}

// methodElicit asks for a form to be filled in. Nobody here does, so it is declined: an agent goes on without, where it would take a
// method that is not known for a failure.
const methodElicit = "elicitation/create"

type elicited struct {
	Action string `json:"action"`
}

func (t *turn) decline(ctx context.Context, m message) error {
	var p struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(m.Params, &p)
	if err := t.notice("the agent asks for a form to be filled in, which is declined: " + clip(p.Message)); err != nil {
		return err
	}
	return t.respond(ctx, m, elicited{"decline"}, nil)
}

// permission takes a request for leave. The call may have been told of before, or only in the request.
func (t *turn) permission(m message) error {
	var p permissionParams
	if json.Unmarshal(m.Params, &p) != nil {
		return t.refuseAsk(m, "a request for leave that makes no sense")
	}
	c, known := t.merge(p.ToolCall)
	q := agentcli.Question{ID: string(m.ID), Kind: agentcli.AskPermission, Prompts: []agentcli.QuestionPrompt{{ID: "permission"}}}
	if c != nil {
		if !known {
			if err := t.sendTool(agentcli.EventToolStart, c, agentcli.ToolRunning); err != nil {
				return err
			}
		}
		call := *c
		q.Tool, q.Title = &call, call.Title
	}
	q.Prompts[0].Prompt = "May it use " + firstOf(q.Title, "a tool") + "?"
	for _, o := range p.Options {
		q.Prompts[0].Options = append(q.Prompts[0].Options, agentcli.Option{ID: o.ID, Label: o.Name, Kind: agentcli.OptionKind(o.Kind)})
	}
	return t.ask(m, agentcli.EventPermission, q)
}

func (t *turn) refuseAsk(m message, why string) error {
	if t.live {
		if err := t.reply(t.asking, m.ID, nil, &rpcError{Code: codeInvalidParams, Message: why}); err != nil && !gone(err) {
			return err
		}
	}
	return t.notice(why)
}

// ask tells of a question and has it decided. What was asked under a host that is gone is decided later, in askAgain.
func (t *turn) ask(m message, kind agentcli.EventType, q agentcli.Question) error {
	t.asked[string(m.ID)] = q
	if err := t.send(agentcli.Event{Type: kind, Text: q.Title, Ask: &q}); err != nil {
		return err
	}
	if t.live {
		t.decide(m.ID, q)
	}
	return nil
}

// askAgain has decided what the host that is gone left unanswered.
func (t *turn) askAgain() error {
	for id, q := range t.asked {
		t.decide(json.RawMessage(id), q)
	}
	return nil
}

// decide answers a question beside the conversation, so that updates and the turn's end are not held up.
func (t *turn) decide(id json.RawMessage, q agentcli.Question) {
	offset := t.offset
	t.askers.Go(func() {
		answer, err := t.answer(t.asking, q)
		answer.ID = q.ID
		if err != nil {
			answer.Outcome = agentcli.Withdrawn
		}
		if refused(q, answer) {
			t.refused.Store(true)
		}
		e := answered(q, answer, offset)
		t.told.Lock()
		t.told.answers = append(t.told.answers, told{q, e})
		t.told.Unlock()
		// The turn may be over: the answer is written all the same, since an agent may wait for it.
		_ = t.reply(context.WithoutCancel(t.asking), id, wireAnswer(q, answer), nil)
	})
}

// answer asks whoever is there to ask. Where nobody is, leave is given only if everything is allowed.
func (t *turn) answer(ctx context.Context, q agentcli.Question) (agentcli.Answer, error) {
	if t.req.Ask != nil {
		return t.req.Ask(ctx, q)
	}
	a := agentcli.Answer{ID: q.ID, Outcome: agentcli.Skipped}
	switch {
	case q.Kind == agentcli.AskQuestion:
	case t.req.Mode == agentcli.ModeForce:
		a, _ = q.Choose(agentcli.AllowOnce, agentcli.AllowAlways)
	default:
		a, _ = q.Choose(agentcli.RejectOnce, agentcli.RejectAlways)
		a.Text = "nobody is there to ask"
	}
	return a, nil
}

// answered is the event of an answer.
func answered(q agentcli.Question, a agentcli.Answer, offset int64) agentcli.Event {
	e := agentcli.Event{Type: agentcli.EventAnswer, Text: string(a.Outcome), Answer: &a, Offset: offset}
	if o := chosen(q, a); o != nil {
		e.Text = o.Label
	}
	return e
}

// chosen is the option that an answer chose at a question's first prompt, nil for none.
func chosen(q agentcli.Question, a agentcli.Answer) *agentcli.Option {
	if len(q.Prompts) == 0 {
		return nil
	}
	return q.Chosen(a, q.Prompts[0].ID)
}

// refused reports an answer that gives no leave. Silence is none.
func refused(q agentcli.Question, a agentcli.Answer) bool {
	if q.Kind == agentcli.AskPermission && a.Outcome == agentcli.Skipped {
		return true
	}
	o := chosen(q, a)
	return o != nil && (o.Kind == agentcli.RejectOnce || o.Kind == agentcli.RejectAlways)
}

// pastAnswer is, in a transcript, our answer to a question of the agent's.
func (t *turn) pastAnswer(m message) error {
	q, ok := t.asked[string(m.ID)]
	if !ok {
		return nil
	}
	delete(t.asked, string(m.ID))
	a := readAnswer(q, m.Result)
	if err := t.send1(answered(q, a, t.offset)); err != nil {
		return err
	}
	return t.refuseCall(q, a)
}

// refuseCall ends the call that leave was refused for, whatever the agent makes of it.
func (t *turn) refuseCall(q agentcli.Question, a agentcli.Answer) error {
	if !refused(q, a) {
		return nil
	}
	t.refused.Store(true)
	if q.Tool == nil {
		return nil
	}
	c := t.calls[q.Tool.ID]
	if c == nil || c.Status != agentcli.ToolRunning {
		return nil
	}
	c.Status, c.Error = agentcli.ToolRejected, "leave was refused"
	return t.ended(c)
}

// outcome is how permissions are answered, and how Cursor's questions are read.
type outcome struct {
	Outcome  string         `json:"outcome"`
	OptionID string         `json:"optionId,omitempty"`
	Answers  []cursorAnswer `json:"answers,omitempty"`
	Reason   string         `json:"reason,omitempty"`
}

// wireAnswer gives an answer the shape that its question wants.
func wireAnswer(q agentcli.Question, a agentcli.Answer) any {
	if q.Kind != agentcli.AskPermission {
		return map[string]any{"outcome": cursorOutcome(q, a)}
	}
	o := outcome{Outcome: "cancelled"}
	if len(q.Prompts) > 0 {
		if chosen := q.Chosen(a, q.Prompts[0].ID); chosen != nil && a.Outcome == agentcli.Answered {
			o = outcome{Outcome: "selected", OptionID: chosen.ID}
		} else if a.Outcome == agentcli.Skipped {
			// Nobody said anything: that is no leave.
			if no, ok := q.Choose(agentcli.RejectOnce, agentcli.RejectAlways); ok {
				o = outcome{Outcome: "selected", OptionID: q.Chosen(no, q.Prompts[0].ID).ID}
			}
		}
	}
	return map[string]any{"outcome": o}
}

// readAnswer reads our own answer back from a transcript.
func readAnswer(q agentcli.Question, result json.RawMessage) agentcli.Answer {
	var r struct {
		Outcome outcome `json:"outcome"`
	}
	_ = json.Unmarshal(result, &r)
	a := agentcli.Answer{ID: q.ID, Outcome: agentcli.Withdrawn, Choices: map[string][]string{}, Text: r.Outcome.Reason}
	switch r.Outcome.Outcome {
	case "selected":
		a.Outcome = agentcli.Answered
		if len(q.Prompts) > 0 {
			a.Choices[q.Prompts[0].ID] = []string{r.Outcome.OptionID}
		}
	case "answered":
		a.Outcome = agentcli.Answered
		for _, x := range r.Outcome.Answers {
			a.Choices[x.Question] = x.Selected
		}
	case "accepted", "rejected":
		a.Outcome = agentcli.Answered
		if len(q.Prompts) > 0 {
			a.Choices[q.Prompts[0].ID] = []string{r.Outcome.Outcome}
		}
	case "skipped":
		a.Outcome = agentcli.Skipped
	}
	return a
}
