package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"substrat.dev/substrat"
)

// detailRows tells more of the agent under the cursor: most important first, as the lines may not suffice.
func (s Snapshot) detailRows(w, most int) []row {
	x, ok := s.current()
	if !ok {
		return nil
	}
	out := []row{rule(x.Path, strong, w)}
	lines := 2
	add := func(look lipgloss.Style, label, text string) {
		wrapped := wrap(line(text), w-11, lines+1)
		for i, l := range wrapped[:min(lines, len(wrapped))] {
			if i == lines-1 && len(wrapped) > lines {
				l = fit(l+" "+wrapped[lines], w-11)
			}
			out = append(out, row{{pad(label, 11), faint}, {l, look}})
			label = ""
		}
	}
	d := s.Detail
	if d == nil || d.ID != x.ID {
		d = &Detail{}
	}
	label := "waits for"
	for _, r := range d.Why.Reasons {
		add(normal, label, s.reason(r))
		label = ""
	}
	if x.LastError != "" {
		add(alarm, "failed", x.LastError)
	}
	if by := d.Why.WaitedOnBy; len(by) > 0 {
		add(cool, "waited on", "by "+strings.Join(by, ", "))
	}
	turns := slices.Clone(d.Turns)
	slices.Reverse(turns)
	if len(turns) > 0 {
		text, look := s.turnLine(turns[0])
		lines = max(2, (most-len(out))/2)
		add(look, "turn", text)
		lines, turns = 2, turns[1:]
	}
	label = "mail"
	for _, m := range d.Why.Next[:min(2, len(d.Why.Next))] {
		text := fit(line(fmt.Sprintf("%s from %s, %s: %s", m.Kind, m.From, ago(s.At, m.CreatedAt), m.Text)), w-11)
		add(normal, label, text)
		label = ""
	}
	add(normal, "used", used(x))
	add(faint, "is", about(x))
	lines, label = 1, "before"
	for _, t := range turns {
		text, look := s.turnLine(t)
		add(look, label, text)
		label = ""
	}
	return out
}

func (s Snapshot) reason(r substrat.Reason) string {
	text := r.Text
	if r.Since != nil {
		text += ", since " + ago(s.At, *r.Since)
	}
	if r.Until != nil && r.Until.After(s.At) {
		text += ", for " + ago(*r.Until, s.At) + " more"
	}
	return text
}

// about is what an agent is. What is not contained is written large.
func about(x substrat.Agent) string {
	parts := []string{string(x.Role), x.Provider}
	if x.Model != "" {
		parts = append(parts, x.Model)
	}
	switch x.Sandbox {
	case substrat.NoSandbox:
		parts = append(parts, "NO SANDBOX")
	case substrat.Landlock:
		parts = append(parts, "LANDLOCK ONLY")
	}
	if x.Permitted {
		parts = append(parts, "one turn may pass its gate")
	}
	return strings.Join(append(parts, x.Dir), ", ")
}

func used(x substrat.Agent) string {
	var u substrat.Spent
	if x.SpentBelow != nil {
		u = *x.SpentBelow
	}
	text := fmt.Sprintf("%s, %s, %d tokens, $%.2f", count(u.Turns, "turn"), (time.Duration(u.WallMS) * time.Millisecond).Round(time.Second),
		u.Tokens, float64(u.CostMicros)/1e6)
	for _, b := range x.Budgets {
		text += "; may use " + budget(b)
	}
	return text
}

func budget(b substrat.Budget) string {
	var parts []string
	if b.Turns > 0 {
		parts = append(parts, count(b.Turns, "turn"))
	}
	if b.WallSeconds > 0 {
		parts = append(parts, (time.Duration(b.WallSeconds) * time.Second).String())
	}
	if b.Tokens > 0 {
		parts = append(parts, count(int(b.Tokens), "token"))
	}
	if b.CostMicros > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", float64(b.CostMicros)/1e6))
	}
	text := strings.Join(parts, " or ")
	if b.Period == substrat.PeriodDay {
		text += " a day"
	}
	if b.Scope == substrat.ScopeAgent {
		text += " itself"
	}
	return text
}

func (s Snapshot) turnLine(t substrat.Turn) (string, lipgloss.Style) {
	if t.EndedAt == nil {
		return fmt.Sprintf("%d runs since %s", t.Number, ago(s.At, t.StartedAt)), good
	}
	text := fmt.Sprintf("%d %s, %s ago, took %s", t.Number, t.Outcome, ago(s.At, *t.EndedAt), ago(*t.EndedAt, t.StartedAt))
	if t.Outcome != substrat.Completed {
		return text + ": " + string(t.Class) + " " + t.Detail, alarm
	}
	return text + ": " + t.Text, normal
}

// itemLine is one item of the queue on one line.
func (s Snapshot) itemLine(x substrat.Item, w int) row {
	left := fmt.Sprintf(" %-10s ", line(string(x.Kind)))
	who := fit(line(x.Agent), max(0, w/3)) + " "
	return row{{left, warm}, {who, strong}, {ago(s.At, x.CreatedAt) + " ", faint}, {line(x.Text), normal}}
}

// queueRows lists the queue.
func (s Snapshot) queueRows(w, body int) []row {
	out := []row{rule(fmt.Sprintf("needs you: %d", len(s.Items)), warm, w)}
	if len(s.Items) == 0 {
		return append(out, say(faint, "  nothing needs you"))
	}
	room := max(1, body-1)
	cursor := max(0, s.itemRow())
	top := clamp(cursor-room/2, 0, max(0, len(s.Items)-room))
	for _, x := range s.Items[top:min(len(s.Items), top+room)] {
		r := s.itemLine(x, w)
		if x.ID == s.item {
			r[0].text = ">" + r[0].text[1:]
			for i := range r {
				r[i].look = bar
			}
		}
		out = append(out, r)
	}
	return out
}

// itemRows shows one item with what may answer it.
func (s Snapshot) itemRows(w, body int) []row {
	x := s.answering
	out := []row{rule(string(x.Kind)+" of "+x.Agent, warm, w), nil}
	open := false
	for _, y := range s.Items {
		open = open || y.ID == x.ID
	}
	var tail []row
	for i, o := range x.Options {
		mark, look := "[ ]", normal
		if i < len(s.chosen) && s.chosen[i] {
			mark = "[x]"
		}
		if i == s.option && !s.typing {
			look = bar
		}
		tail = append(tail, row{{fmt.Sprintf(" %d %s ", i+1, mark), look}, {line(o), look}})
	}
	if x.Multiple {
		tail = append(tail, say(faint, "several may be chosen"))
	}
	if x.Deadline != nil {
		tail = append(tail, s.deadline(x))
	}
	if s.input != "" && !s.typing {
		tail = append(tail, say(normal, "with: %s", s.input))
	}
	if !open {
		tail = append(tail, say(alarm, "it is no longer open"))
	}
	text := x.Text
	if x.Tool != "" {
		text += "\n\n" + x.Tool + " " + string(x.Input)
	}
	for _, l := range wrap(text, w-2, max(1, body-len(out)-len(tail)-1)) {
		out = append(out, row{{" " + l, normal}})
	}
	out = append(append(out, nil), tail...)
	if over := len(out) - body; over > 0 { // the choices matter more than the text
		out = append(out[:1:1], out[1+over:]...)
	}
	return out
}

func (s Snapshot) deadline(x substrat.Item) row {
	left := "its time is over"
	if x.Deadline.After(s.At) {
		left = "in " + ago(*x.Deadline, s.At)
	}
	if x.Default != "" {
		return say(faint, "%q is taken %s", x.Default, left)
	}
	return say(faint, "it expires %s", left)
}

// logLines wraps the transcript.
func (s Snapshot) logLines(w int) []string {
	var out []string
	for _, l := range s.log {
		out = append(out, wrap(l, w, 400)...)
	}
	return out
}

func (s Snapshot) logRows(w, body int) []row {
	out := []row{rule("transcript of "+s.target.path, strong, w)}
	lines := s.logLines(w)
	room := max(1, body-1)
	last := max(0, len(lines)-room)
	top := clamp(s.logTop, 0, last)
	if s.logEnd {
		top = last
	}
	if len(lines) == 0 {
		return append(out, say(faint, "  nothing yet"))
	}
	for _, l := range lines[top:min(len(lines), top+room)] {
		look := normal
		switch {
		case strings.HasPrefix(l, "──"):
			look = strong
		case strings.HasPrefix(l, "•"):
			look = cool
		case strings.HasPrefix(l, "»"):
			look = warm
		}
		out = append(out, row{{l, look}})
	}
	return out
}

func helpRows() []row {
	out := []row{nil}
	for _, k := range [][2]string{
		{"up down j k", "move the cursor; PgUp PgDn by pages, home end to the ends"},
		{"enter", "show or hide the details"},
		{"/", "show only agents with a text in their path; esc shows all"},
		{"u", "what needs you: enter opens an item, then sends the answer"},
		{"m", "send a message to the agent"},
		{"l", "the agent's transcript, as it comes"},
		{"s", "stop the agent's turn"},
		{"p", "poke: retry its failed turn now"},
		{"g", "put its gate down, or lift it: mail does not wake a gated agent"},
		{"x", "end the agent and all under it"},
		{"q", "back, and from the tree out; ctrl-c always. The agents go on."},
		{"", ""},
		{"MAIL", "messages that wait for a turn"},
		{"TURNS", "turns that were started"},
	} {
		out = append(out, row{{"  " + pad(k[0], 14), strong}, {k[1], normal}})
	}
	return out
}
