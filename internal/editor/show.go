package editor

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/client"
)

// item shows one thing of the root's own turns.
func (f *following) item(x client.StreamItem) {
	switch {
	case x.Started != nil && f.spoke:
		f.spoke = false
		f.update(acp.UpdateAgentMessageText("\n\n")) // an editor shows all that is said in a prompt as one text
	case x.Ended != nil:
		f.shown, f.outcome = max(f.shown, x.Number), x.Ended
	case x.Event != nil:
		f.show(x.Turn, *x.Event)
	}
}

func (f *following) show(turn string, e agentcli.Event) {
	switch e.Type {
	case agentcli.EventText:
		f.spoke = true
		f.update(acp.UpdateAgentMessageText(e.Text))
	case agentcli.EventThinking:
		f.update(acp.UpdateAgentThoughtText(e.Text))
	case agentcli.EventToolStart, agentcli.EventToolUpdate, agentcli.EventToolEnd:
		f.tool(turn, e.Tool)
	case agentcli.EventTodos:
		f.plan(e.Todos)
	case agentcli.EventPlan:
		f.say("%s", e.Text)
		if len(e.Todos) > 0 {
			f.plan(e.Todos)
		}
	case agentcli.EventRetry:
		if e.Reset {
			f.say("(it starts over; the text above is void)")
		}
	}
}

func (f *following) plan(todos []agentcli.Todo) {
	entries := []acp.PlanEntry{}
	for _, d := range todos {
		status := acp.PlanEntryStatusPending
		switch d.Status {
		case "in_progress":
			status = acp.PlanEntryStatusInProgress
		case "completed", "cancelled":
			status = acp.PlanEntryStatusCompleted
		}
		entries = append(entries, acp.PlanEntry{Content: d.Content, Priority: acp.PlanEntryPriorityMedium, Status: status})
	}
	f.update(acp.UpdatePlan(entries...))
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

func statusOf(c *agentcli.ToolCall) acp.ToolCallStatus {
	switch c.Status {
	case agentcli.ToolOK:
		return acp.ToolCallStatusCompleted
	case agentcli.ToolFailed, agentcli.ToolRejected, agentcli.ToolTimeout:
		return acp.ToolCallStatusFailed
	default:
		return acp.ToolCallStatusInProgress
	}
}

// tool shows a tool call of the root's. A CLI may use an id again in another turn; an editor takes that for the same call.
func (f *following) tool(turn string, c *agentcli.ToolCall) {
	if c == nil {
		return
	}
	name := turn + "/" + strings.ReplaceAll(c.ID, "\n", " ")
	id, title := acp.ToolCallId(name), firstLine(c.Name+" "+c.Title)
	content, places := f.contentOf(c), f.placesOf(c)
	if !f.tools[name] {
		f.tools[name] = true
		f.update(acp.StartToolCall(id, title, acp.WithStartKind(kindOf(c)), acp.WithStartStatus(statusOf(c)), acp.WithStartLocations(places),
			acp.WithStartContent(content), acp.WithStartRawInput(rawOf(c.Input)), acp.WithStartRawOutput(rawOutput(c))))
		return
	}
	f.update(acp.UpdateToolCall(id, acp.WithUpdateTitle(title), acp.WithUpdateKind(kindOf(c)), acp.WithUpdateStatus(statusOf(c)), acp.WithUpdateContent(content),
		acp.WithUpdateLocations(places), acp.WithUpdateRawInput(rawOf(c.Input)), acp.WithUpdateRawOutput(rawOutput(c))))
}

func (f *following) contentOf(c *agentcli.ToolCall) (content []acp.ToolCallContent) {
	quote := func(text string) {
		if text != "" {
			content = append(content, acp.ToolContent(acp.TextBlock(fenced(clip(text)))))
		}
	}
	if len(c.Paths) > 0 && len(c.Diff) <= clipMost {
		content = changes(f.path(c.Paths[0]), c.Diff)
	} else {
		quote(c.Diff)
	}
	quote(c.Output)
	if c.Error != c.Output {
		quote(c.Error)
	}
	return content
}

func (f *following) placesOf(c *agentcli.ToolCall) (places []acp.ToolCallLocation) {
	for i, p := range c.Paths {
		l := acp.ToolCallLocation{Path: f.path(p)}
		if i == 0 && c.Line > 0 {
			l.Line = acp.Ptr(c.Line)
		}
		places = append(places, l)
	}
	return places
}

// path makes a path whole: editors take no others.
func (f *following) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(f.root.Dir, p)
}

func rawOf(input json.RawMessage) any {
	var v any
	if json.Unmarshal(input, &v) != nil {
		return nil
	}
	return v
}

func rawOutput(c *agentcli.ToolCall) any {
	if c.ExitCode == nil {
		return nil
	}
	return map[string]any{"exitCode": *c.ExitCode}
}

// clipMost bounds what an editor is shown of one text.
const clipMost = 32 << 10

func clip(s string) string {
	if len(s) > clipMost {
		return strings.ToValidUTF8(s[:clipMost], "") + "…"
	}
	return s
}

// titleMost bounds a line that stands for a text, in characters.
const titleMost = 160

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > titleMost {
		return string(r[:titleMost]) + "…"
	}
	return line
}

// otherStarted shows the turn of another agent of the team as a call of its own.
func (f *following) otherStarted(ctx context.Context, id string) {
	t, err := f.c.Turn(ctx, id)
	if err != nil || f.tools[id] {
		return
	}
	f.tools[id] = true
	f.update(acp.StartToolCall(acp.ToolCallId(id), f.titleOf(ctx, t), acp.WithStartKind(acp.ToolKindThink), acp.WithStartStatus(acp.ToolCallStatusInProgress)))
}

func (f *following) titleOf(ctx context.Context, t substrat.Turn) string {
	for _, id := range t.Messages {
		if m, err := f.c.Message(ctx, id); err == nil {
			return firstLine(t.Agent + ": " + strings.TrimSpace(m.Text))
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
		status, text = acp.ToolCallStatusFailed, strings.TrimSpace(t.Text+"\n\n"+fate(t))
	}
	opts := []acp.ToolCallUpdateOpt{acp.WithUpdateStatus(status)}
	if text != "" {
		opts = append(opts, acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(clip(text)))}))
	}
	f.update(acp.UpdateToolCall(acp.ToolCallId(id), opts...))
}
