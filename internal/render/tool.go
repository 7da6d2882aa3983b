package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat/agentcli"
)

// call is a tool call that has begun.
type call struct {
	tool *agentcli.ToolCall
	ms   int64
}

func (t *Transcript) begin(e agentcli.Event) {
	if e.Tool != nil && len(t.open) < mostOpen {
		t.open = append(t.open, call{e.Tool, e.TimeMS})
	}
}

// tool shows a call that is over: one line, and the beginning of what it printed or changed.
func (t *Transcript) tool(e agentcli.Event) {
	x := e.Tool
	if x == nil {
		return
	}
	time := ""
	if i := slices.IndexFunc(t.open, func(c call) bool { return c.tool.ID == x.ID }); i >= 0 {
		if from := t.open[i].ms; from > 0 && e.TimeMS-from >= 10 {
			time = took(msec(e.TimeMS - from))
		}
		t.open = slices.Delete(t.open, i, i+1)
	}
	status := ""
	if x.Status != agentcli.ToolOK {
		status = string(x.Status)
		if x.Error != "" && x.Error != status {
			status += ": " + OneLine(x.Error, 300)
		}
	}
	t.call(x, time, status)
	switch {
	case t.o.Brief:
	case x.Diff != "":
		t.Diff(x.Diff)
	case x.Name == "Todo", x.Name == "getMcpTools" && !t.o.Full: // the list follows; schemas are for the agent
	case strings.TrimSpace(x.Output) != "":
		t.output(x.Output)
	}
}

// call writes the one line of a call. On a terminal what it was called with is shortened to fit; how it ended is not.
func (t *Transcript) call(x *agentcli.ToolCall, time, status string) {
	name, tail := OneLine(x.Name, 40), ""
	if x.ExitCode != nil && *x.ExitCode != 0 {
		tail += fmt.Sprintf(" (exit %d)", *x.ExitCode)
	}
	if status != "" {
		tail += " [" + status + "]"
	}
	if plus, minus := diffSize(x.Diff); plus+minus > 0 {
		tail += fmt.Sprintf(" +%d -%d", plus, minus)
	}
	if time != "" {
		tail += " " + time
	}
	what := OneLine(calledWith(x), mostLine/2)
	if w := t.width(); w > 0 && !t.o.Full {
		// With a long reason a third of the line is left to tell what was called, and the reason wraps.
		what = cutTo(what, max(w/3, w-columns("• "+name+" "+tail)))
	}
	style := ""
	if status != "" || x.ExitCode != nil && *x.ExitCode != 0 {
		style = red
	}
	if what != "" {
		name += " " + what
	}
	t.line(style, "• %s%s", name, tail)
}

// calledWith is what is worth knowing of a call in one line: command, path, pattern, or an MCP tool and its arguments.
func calledWith(x *agentcli.ToolCall) string {
	switch {
	case x.Server != "" && x.Name != "MCP":
		return x.Server + " " + x.Title
	case x.Server != "":
		return strings.TrimSpace(x.Server + " " + x.Title + " " + arguments(x.Input))
	case x.Name == "Grep":
		var in struct{ Pattern, Path string }
		if json.Unmarshal(x.Input, &in) == nil && in.Pattern != "" && x.Title == in.Path {
			return in.Pattern + " in " + in.Path
		}
	}
	return x.Title
}

// arguments gives an MCP call's own arguments, without what the CLI puts around them.
func arguments(input json.RawMessage) string {
	var around struct {
		Tool string          `json:"toolName"`
		Args json.RawMessage `json:"args"`
	}
	if json.Unmarshal(input, &around) == nil && around.Tool != "" && len(around.Args) > 0 {
		input = around.Args
	}
	var b bytes.Buffer
	if json.Compact(&b, input) != nil || b.String() == "{}" || b.String() == "null" {
		return ""
	}
	return b.String()
}

// output shows the first lines of what a program printed.
func (t *Transcript) output(text string) {
	lines := strings.Split(strings.Trim(text, "\r\n"), "\n")
	for i, l := range lines {
		lines[i] = settled(l)
	}
	t.block(strings.Join(lines, "\n"), mostOutput, chop, dim)
}

// Diff shows a unified diff.
func (t *Transcript) Diff(text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	width := 0
	if t.width() > 0 {
		width = t.width() - len(indent)
	}
	shown := 0
	for i, l := range lines {
		if shown >= mostDiff && len(lines)-i > 1 && !t.o.Full {
			t.more(len(lines) - i)
			return
		}
		l = Printable(strings.TrimSuffix(l, "\r"))
		style := diffStyle(l)
		if !t.o.Full && width == 0 {
			l = cutTo(l, mostLine)
		}
		for _, piece := range chop(l, width) {
			if shown++; shown > 2*mostDiff && !t.o.Full {
				t.more(len(lines) - i)
				return
			}
			t.raw(indent + paint(t.o.Colour, style, piece))
		}
	}
}

func diffStyle(line string) string {
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		return bold
	case strings.HasPrefix(line, "@@"):
		return cyan
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	}
	return ""
}

// diffSize counts the lines that a diff adds and removes.
func diffSize(diff string) (plus, minus int) {
	for l := range strings.SplitSeq(diff, "\n") {
		switch diffStyle(l) {
		case green:
			plus++
		case red:
			minus++
		}
	}
	return plus, minus
}

func msec(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// took writes a duration no finer than it matters.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
