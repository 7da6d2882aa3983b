// Package render shows an agent's turns as text for people: what it was told, what it said and did, how it ended. It is
// given what to show and where; it asks nobody, keeps no more than the open tool calls of one turn, and never writes what
// a terminal would obey other than its own colours.
package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Options say how to show.
type Options struct {
	// Width is asked before each line and text; nil or 0 wraps nothing, as for pipes.
	Width  func() int
	Colour bool
	// Full leaves nothing out. Brief leaves out what tools printed and changed.
	Full, Brief bool
}

// Transcript writes turns. It is for one goroutine.
type Transcript struct {
	w    io.Writer
	o    Options
	text flow
	open []call // tool calls that have begun, oldest first
	// thought is reasoning that is shown when it is complete.
	thought strings.Builder
}

// What is shown of long things, in lines, and of reasoning, in bytes.
const (
	mostPrompt      = 20
	mostPromptBrief = 3
	mostOutput      = 6
	mostDiff        = 40
	mostThought     = 64 << 10
	mostOpen        = 1000 // calls; a stream that never ends its calls must not grow us
	mostLine        = 400  // columns of one line of a tool's output, where nothing wraps
)

// indent stands before everything that is not the agent's own text.
const indent = "    "

// New makes a transcript that writes to w. What w refuses is lost.
func New(w io.Writer, o Options) *Transcript {
	t := &Transcript{w: w, o: o}
	t.text.put = func(s string) { _, _ = io.WriteString(w, s) }
	return t
}

// Started shows the beginning of a turn and the messages it began with.
func (t *Transcript) Started(x substrat.Turn, prompt []substrat.Message) {
	t.open = nil
	t.thought.Reset()
	head := fmt.Sprintf("── turn %d", x.Number)
	if !x.StartedAt.IsZero() {
		head += "  " + x.StartedAt.Local().Format(time.DateTime)
	}
	if rest := t.width() - columns(head) - 1; rest > 0 {
		head += " " + strings.Repeat("─", rest)
	}
	t.line(bold, "%s", head)
	most := mostPrompt
	if t.o.Brief {
		most = mostPromptBrief
	}
	for _, m := range prompt {
		t.line(bold, "» %s from %s:", m.Kind, Printable(m.From))
		t.block(Printable(m.Text), most, wrapped, "")
	}
}

// Event shows one thing the agent did.
func (t *Transcript) Event(e agentcli.Event) {
	switch e.Type {
	case agentcli.EventText:
		t.text.width = t.width()
		t.text.add(Printable(e.Text))
	case agentcli.EventTextEnd:
		t.text.end()
	case agentcli.EventThinking:
		if t.o.Full && t.thought.Len() < mostThought {
			t.thought.WriteString(e.Text)
		}
	case agentcli.EventThinkEnd:
		t.think()
	case agentcli.EventToolStart:
		t.begin(e)
	case agentcli.EventToolEnd:
		t.tool(e)
	case agentcli.EventTodos:
		t.todos(e.Todos)
	case agentcli.EventPlan:
		t.line(bold, "• plan:")
		t.block(Printable(e.Text), mostPrompt, wrapped, "")
	case agentcli.EventPermission:
		t.line(yellow, "  (needs leave: %s)", OneLine(e.Text, 200))
		t.asks(e.Ask)
	case agentcli.EventQuestion:
		t.asks(e.Ask)
	case agentcli.EventAnswer:
		t.line(yellow, "  (%s)", OneLine(e.Text, 200))
	case agentcli.EventRetry:
		if e.Reset {
			t.line(yellow, "  (starts over, the text above is void: %s)", OneLine(e.Text, 200))
			return
		}
		t.line(yellow, "  (%s)", OneLine(e.Text, 200))
	case agentcli.EventNotice:
		if t.o.Full && e.Text != "" {
			t.line(dim, "  (%s)", OneLine(e.Text, 200))
		}
	}
}

// Ended shows how a turn ended and what it used.
func (t *Transcript) Ended(x substrat.Turn) {
	t.Pause("not finished")
	style := green
	if x.Outcome != substrat.Completed {
		style = red
	}
	said := fmt.Sprintf("── %s", x.Outcome)
	if x.Class != "" {
		said += fmt.Sprintf(": %s: %s", x.Class, OneLine(x.Detail, 400))
	}
	if x.EndedAt != nil {
		said += ", " + took(x.EndedAt.Sub(x.StartedAt))
	}
	if x.ToolCalls > 0 {
		said += fmt.Sprintf(", %d tool %s", x.ToolCalls, plural(x.ToolCalls, "call"))
	}
	if u := x.Usage; u != nil {
		said += fmt.Sprintf(", %d tokens in, %d out", u.InputTokens, u.OutputTokens)
	}
	if x.CostMicros > 0 {
		said += fmt.Sprintf(", $%.2f", float64(x.CostMicros)/1e6)
	}
	t.line(style, "%s", said)
	t.text.put("\n")
}

// Pause closes the line and tells of the tool calls that are open, in a word how they stand.
func (t *Transcript) Pause(word string) {
	t.think()
	for _, c := range t.open {
		t.call(c.tool, "", word)
	}
	t.open = nil
	t.text.end()
}

// Note shows a line that is not of the stream.
func (t *Transcript) Note(text string) { t.line(dim, "── %s", Printable(text)) }

func (t *Transcript) think() {
	if text := strings.TrimSpace(t.thought.String()); text != "" {
		t.line(dim, "∴ thinks:")
		t.block(Printable(text), mostPrompt, wrapped, dim)
	}
	t.thought.Reset()
}

func (t *Transcript) todos(list []agentcli.Todo) {
	if t.o.Brief {
		return
	}
	sign := map[string]string{"completed": "x", "in_progress": ">", "cancelled": "-"}
	for i, x := range list {
		if i == mostOutput*2 && !t.o.Full {
			t.more(len(list) - i)
			return
		}
		mark := sign[x.Status]
		if mark == "" {
			mark = " "
		}
		t.line("", "%s[%s] %s", indent, mark, OneLine(x.Content, 200))
	}
}

func (t *Transcript) asks(q *agentcli.Question) {
	if q == nil {
		return
	}
	for _, p := range q.Prompts {
		t.line(yellow, "? asks: %s", OneLine(p.Prompt, 200))
		for i, option := range p.Options {
			t.line("", "%s%d. %s", indent, i+1, OneLine(option.Label, 200))
		}
	}
}

// block shows a text indented, so many lines of it.
func (t *Transcript) block(text string, most int, cut func(string, int) []string, style string) {
	width := 0
	if t.width() > 0 {
		width = t.width() - len(indent)
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	shown := 0
	for i, l := range lines {
		if shown >= most && len(lines)-i > 1 && !t.o.Full {
			t.more(len(lines) - i)
			return
		}
		if !t.o.Full && width == 0 {
			l = cutTo(l, mostLine)
		}
		for _, piece := range cut(l, width) {
			if shown++; shown > 4*most && !t.o.Full {
				t.more(len(lines) - i)
				return
			}
			t.raw(paint(t.o.Colour, style, indent+piece))
		}
	}
}

func (t *Transcript) more(n int) {
	t.line(dim, "%s… %d more %s", indent, n, plural(n, "line"))
}

// line writes a line of its own, wrapped. Its arguments are printable.
func (t *Transcript) line(style, format string, args ...any) {
	text, w := fmt.Sprintf(format, args...), t.width()
	lines := wrapped(text, w)
	if len(lines) > 1 {
		lines = wrapped(text, max(0, w-len(indent)))
	}
	for i, l := range lines {
		if i > 0 {
			l = indent + l
		}
		t.raw(paint(t.o.Colour, style, l))
	}
}

// raw writes one line as it is, after the text that is open.
func (t *Transcript) raw(s string) {
	t.text.end()
	t.text.put(s + "\n")
}

// width is how wide lines may be, 0 for any width. A terminal narrower than this shows nothing anyhow.
func (t *Transcript) width() int {
	if t.o.Width == nil {
		return 0
	}
	if w := t.o.Width(); w > 0 {
		return max(w, 20)
	}
	return 0
}

// The styles.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	plain  = "\x1b[0m"
)

func paint(colour bool, style, s string) string {
	if !colour || style == "" || s == "" {
		return s
	}
	return style + s + plain
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
