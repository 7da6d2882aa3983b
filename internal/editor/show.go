package editor

import (
	"context"
	"encoding/json"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/client"
)

// item shows one thing of the root's own turns.
func (f *following) item(ctx context.Context, x client.StreamItem) {
	switch {
	case x.Started != nil && f.spoke:
		f.spoke = false
		f.update(ctx, acp.UpdateAgentMessageText("\n\n")) // an editor shows all that is said in a prompt as one text
	case x.Ended != nil:
		f.shown, f.outcome = max(f.shown, x.Number), x.Ended
	case x.Event != nil:
		f.show(ctx, *x.Event)
	}
}

func (f *following) show(ctx context.Context, e agentcli.Event) {
	switch e.Type {
	case agentcli.EventText:
		f.spoke = true
		f.update(ctx, acp.UpdateAgentMessageText(e.Text))
	case agentcli.EventThinking:
		f.update(ctx, acp.UpdateAgentThoughtText(e.Text))
	case agentcli.EventToolStart, agentcli.EventToolUpdate, agentcli.EventToolEnd:
		f.tool(ctx, e.Tool)
	case agentcli.EventTodos:
		var entries []acp.PlanEntry
		for _, d := range e.Todos {
			status := acp.PlanEntryStatus(d.Status)
			if d.Status == "cancelled" {
				status = acp.PlanEntryStatusCompleted
			}
			entries = append(entries, acp.PlanEntry{Content: d.Content, Priority: acp.PlanEntryPriorityMedium, Status: status})
		}
		f.update(ctx, acp.UpdatePlan(entries...))
	case agentcli.EventPlan:
		f.update(ctx, acp.UpdateAgentMessageText("\n\n"+e.Text+"\n\n"))
	case agentcli.EventRetry:
		if e.Reset {
			f.update(ctx, acp.UpdateAgentMessageText("\n\n(it starts over; the text above is void)\n\n"))
		}
	}
}

// kinds are the protocol's own words for what tools do.
var kinds = map[string]acp.ToolKind{
	"read": acp.ToolKindRead, "edit": acp.ToolKindEdit, "delete": acp.ToolKindDelete, "move": acp.ToolKindMove, "search": acp.ToolKindSearch,
	"execute": acp.ToolKindExecute, "think": acp.ToolKindThink, "fetch": acp.ToolKindFetch,
}

func kindOf(c *agentcli.ToolCall) acp.ToolKind {
	if k, ok := kinds[c.Kind]; ok {
		return k
	}
	return acp.ToolKindOther
}

var statuses = map[agentcli.ToolStatus]acp.ToolCallStatus{
	agentcli.ToolRunning: acp.ToolCallStatusInProgress, agentcli.ToolOK: acp.ToolCallStatusCompleted,
	agentcli.ToolFailed: acp.ToolCallStatusFailed, agentcli.ToolRejected: acp.ToolCallStatusFailed, agentcli.ToolTimeout: acp.ToolCallStatusFailed,
}

// tool shows a tool call of the root's.
func (f *following) tool(ctx context.Context, c *agentcli.ToolCall) {
	if c == nil {
		return
	}
	id := acp.ToolCallId(strings.ReplaceAll(c.ID, "\n", " "))
	title := strings.TrimSpace(c.Name + " " + c.Title)
	var content []acp.ToolCallContent
	for i, text := range []string{c.Diff, c.Output, c.Error} {
		if text != "" && (i < 2 || text != c.Output) {
			content = append(content, acp.ToolContent(acp.TextBlock("```\n"+clip(text)+"\n```")))
		}
	}
	var places []acp.ToolCallLocation
	for i, p := range c.Paths {
		l := acp.ToolCallLocation{Path: p}
		if i == 0 && c.Line > 0 {
			l.Line = acp.Ptr(c.Line)
		}
		places = append(places, l)
	}
	if !f.tools[c.ID] {
		f.tools[c.ID] = true
		f.update(ctx, acp.StartToolCall(id, title, acp.WithStartKind(kindOf(c)), acp.WithStartStatus(statuses[c.Status]), acp.WithStartLocations(places),
			acp.WithStartContent(content), acp.WithStartRawInput(rawOf(c.Input))))
		return
	}
	f.update(ctx, acp.UpdateToolCall(id, acp.WithUpdateTitle(title), acp.WithUpdateStatus(statuses[c.Status]), acp.WithUpdateContent(content), acp.WithUpdateLocations(places)))
}

func rawOf(input json.RawMessage) any {
	var v any
	if json.Unmarshal(input, &v) != nil {
		return nil
	}
	return v
}

// clipMost bounds what an editor is shown of one text.
const clipMost = 32 << 10

func clip(s string) string {
	if len(s) > clipMost {
		return strings.ToValidUTF8(s[:clipMost], "") + "…"
	}
	return s
}

// otherStarted shows the turn of another agent of the team as a call of its own.
func (f *following) otherStarted(ctx context.Context, id string) {
	t, err := f.c.Turn(ctx, id)
	if err != nil || f.tools[id] {
		return
	}
	f.tools[id] = true
	f.update(ctx, acp.StartToolCall(acp.ToolCallId(id), f.titleOf(ctx, t), acp.WithStartKind(acp.ToolKindThink), acp.WithStartStatus(acp.ToolCallStatusInProgress)))
}

func (f *following) titleOf(ctx context.Context, t substrat.Turn) string {
	for _, id := range t.Messages {
		if m, err := f.c.Message(ctx, id); err == nil {
			line, _, _ := strings.Cut(strings.TrimSpace(m.Text), "\n")
			if r := []rune(line); len(r) > 100 {
				line = string(r[:100]) + "…"
			}
			return t.Agent + ": " + line
		}
	}
	return t.Agent
}

func (f *following) otherEnded(ctx context.Context, id string) {
	t, err := f.c.Turn(ctx, id)
	if err != nil {
		return
	}
	if !f.tools[id] {
		f.otherStarted(ctx, id)
	}
	status, text := acp.ToolCallStatusCompleted, t.Text
	if t.Outcome != substrat.Completed {
		status, text = acp.ToolCallStatusFailed, strings.TrimSpace(string(t.Outcome)+" "+string(t.Class)+" "+t.Detail)
	}
	opts := []acp.ToolCallUpdateOpt{acp.WithUpdateStatus(status)}
	if text != "" {
		opts = append(opts, acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(clip(text)))}))
	}
	f.update(ctx, acp.UpdateToolCall(acp.ToolCallId(id), opts...))
}
