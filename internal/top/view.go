package top

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"substrat.dev/substrat"
)

// cell is a clean piece of a line with its look.
type cell struct {
	text string
	look lipgloss.Style
}

// row is one line of the screen.
type row []cell

// The looks. The sixteen colours are the terminal's own, so that they are readable on what people have set up.
var (
	normal = lipgloss.NewStyle()
	faint  = lipgloss.NewStyle().Faint(true)
	strong = lipgloss.NewStyle().Bold(true)
	bar    = lipgloss.NewStyle().Reverse(true)
	alarm  = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Red)
	good   = lipgloss.NewStyle().Foreground(lipgloss.Green)
	warm   = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	cool   = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

func say(look lipgloss.Style, format string, args ...any) row {
	return row{{line(fmt.Sprintf(format, args...)), look}}
}

// render cuts a row to a width and fills it.
func (r row) render(w int) string {
	var b strings.Builder
	for _, c := range r {
		text := fit(c.text, w)
		w -= width(text)
		if text != "" {
			b.WriteString(c.look.Render(text))
		}
	}
	b.WriteString(strings.Repeat(" ", max(0, w)))
	return b.String()
}

// View draws a snapshot on a terminal of a size: exactly h lines of w columns, whatever the texts are.
func View(s Snapshot, w, h int) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	lines := []string{s.header(w).render(w)}
	body := h - 2
	if body > 0 {
		switch s.mode {
		case modeQueue:
			lines = append(lines, block(s.queueRows(w, body), w, body)...)
		case modeItem:
			lines = append(lines, block(s.itemRows(w, body), w, body)...)
		case modeLog:
			lines = append(lines, block(s.logRows(w, body), w, body)...)
		case modeHelp:
			lines = append(lines, block(helpRows(), w, body)...)
		default:
			lines = append(lines, s.main(w, body)...)
		}
	}
	if h > 1 {
		lines = append(lines, s.foot(w).render(w))
	}
	return strings.Join(lines, "\n")
}

// block makes rows into exactly so many lines.
func block(rows []row, w, h int) []string {
	out := make([]string, 0, h)
	for i := range h {
		var r row
		if i < len(rows) {
			r = rows[i]
		}
		out = append(out, r.render(w))
	}
	return out
}

// header tells how the daemon is.
func (s Snapshot) header(w int) row {
	turns := 0
	for _, x := range s.Agents {
		turns += x.Turns
	}
	st := s.Status
	text := fmt.Sprintf(" substrat %s  slots %d/%d  agents %d  turns %d  queue %d", line(st.Version), st.Turns, st.Slots, len(s.Agents), turns, len(s.Items))
	switch {
	case s.Away:
		return row{{pad(" daemon away, reconnecting  "+text, w), alarm.Reverse(true)}}
	case s.At.IsZero():
		text = " substrat  connecting"
	case s.Problem != "":
		text += "  (" + line(s.Problem) + ")"
	case st.Draining:
		text += "  DRAINING: no new turns"
	}
	if !s.Away && !st.StartedAt.IsZero() {
		up := "up " + ago(s.At, st.StartedAt) + " "
		if room := w - width(text) - width(up); room > 1 {
			text = pad(text, w-width(up)) + up
		}
	}
	return row{{pad(text, w), bar}}
}

// layout divides the main screen.
type layout struct {
	tree, detail, queue int // lines
	left, right         int // columns
}

// sideBySide is how wide a terminal must be to have the details beside the tree.
const sideBySide = 120

func (s Snapshot) layout(w, body int) layout {
	l := layout{left: w}
	if n := min(2, len(s.Items)); n > 0 && body >= 12 {
		l.queue = n + 1
	}
	rest := max(0, body-l.queue-1) // the heads of the columns
	l.tree = rest
	switch {
	case s.bare || rest < 6:
	case w >= sideBySide:
		l.left = w * 3 / 5
		l.right = w - l.left - 3
	default:
		l.detail = clamp(max(rest*6/11, rest-len(s.rows())-1), 4, 16)
		l.tree = rest - l.detail
	}
	return l
}

// page is how far a page key goes in the tree.
func (s Snapshot) page() int { return max(1, s.layout(s.width, s.height-2).tree-1) }

// main draws the tree, the details and the head of the queue.
func (s Snapshot) main(w, body int) []string {
	l := s.layout(w, body)
	lines := block(s.treeRows(l), l.left, l.tree+1)
	switch {
	case l.right > 0:
		beside := block(s.detailRows(l.right, len(lines)), l.right, len(lines))
		for i := range lines {
			lines[i] += faint.Render(" │ ") + beside[i]
		}
	case l.detail > 0:
		lines = append(lines, block(s.detailRows(w, l.detail), w, l.detail)...)
	}
	if l.queue > 0 {
		rows := []row{rule(fmt.Sprintf("needs you: %d", len(s.Items)), warm, w)}
		for _, x := range s.Items[:l.queue-1] {
			rows = append(rows, s.itemLine(x, w))
		}
		lines = append(lines, block(rows, w, l.queue)...)
	}
	return lines[:min(len(lines), body)]
}

// rule is a line across the screen with a title in it.
func rule(title string, look lipgloss.Style, w int) row {
	title = fit(line(title), w-6)
	return row{{"── ", faint}, {title, look}, {" ", faint}, {strings.Repeat("─", max(0, w-width(title)-4)), faint}}
}

// The columns of the tree beside the name, which has the rest.
const (
	stateColumn = 10
	mailColumn  = 5
	turnsColumn = 6
	ageColumn   = 5
)

func (s Snapshot) treeRows(l layout) []row {
	waits := clamp((l.left-44)/2, 0, 40)
	name := l.left - 1 - stateColumn - mailColumn - turnsColumn - ageColumn - waits - 2
	if name < 8 { // a narrow terminal has room for the name and the state only
		name, waits = max(4, l.left-1-stateColumn), 0
	}
	columns := func(mark, a, state, mail, turns, waiting, age string, look, stateLook lipgloss.Style) row {
		return row{{mark, look}, {pad(a, name), look}, {" " + pad(state, stateColumn-1), stateLook},
			{right(mail, mailColumn) + right(turns, turnsColumn) + "  " + pad(waiting, waits) + right(age, ageColumn), look}}
	}
	rows := s.rows()
	heads := "AGENT"
	if s.filter != "" {
		heads = fmt.Sprintf("AGENT %d/%d /%s", len(rows), len(s.Agents), line(s.filter))
	}
	out := []row{columns(" ", heads, "STATE", "MAIL", "TURNS", "WAITS FOR", "AGE", faint, faint)}
	if len(rows) == 0 {
		return append(out, s.noRows())
	}
	cursor := max(0, s.rowOf(s.selected))
	top := clamp(cursor-l.tree/2, 0, max(0, len(rows)-l.tree))
	for _, x := range rows[top:min(len(rows), top+l.tree)] {
		look, state, mark := normal, stateLook(x.State), " "
		if x.ID == s.selected {
			look, state, mark = bar, bar, ">"
		}
		pending := ""
		if x.Pending > 0 {
			pending = fmt.Sprint(x.Pending)
		}
		out = append(out, columns(mark, treeName(x, s.filter != ""), line(string(x.State)), pending, fmt.Sprint(x.Turns),
			line(strings.Join(x.WaitingFor, ", ")), ago(s.At, x.CreatedAt), look, state))
	}
	return out
}

func (s Snapshot) noRows() row {
	switch {
	case s.At.IsZero():
		return nil
	case s.filter != "":
		return say(faint, "  no agent has %q in its path; esc shows all", s.filter)
	default:
		return say(faint, "  no agents yet: substrat agent create lead --dir ~/src/project")
	}
}

// mostIndent is how deep a tree is drawn as one; below that only the depth is told.
const mostIndent = 12

// treeName is an agent's name at its depth, or its path in a list without its ancestors.
func treeName(x substrat.Agent, flat bool) string {
	if flat {
		return line(x.Path)
	}
	depth := strings.Count(x.Path, "/")
	if depth > mostIndent {
		return strings.Repeat("  ", mostIndent) + fmt.Sprintf("+%d ", depth-mostIndent) + line(x.Name)
	}
	return strings.Repeat("  ", depth) + line(x.Name)
}

func stateLook(s substrat.AgentState) lipgloss.Style {
	switch s {
	case substrat.Busy:
		return good
	case substrat.Waiting:
		return cool
	case substrat.Gated:
		return warm
	case substrat.Failed:
		return alarm
	case substrat.Terminated:
		return faint
	default:
		return normal
	}
}

// foot is the last line: what is typed, what came of an action, or the keys.
func (s Snapshot) foot(w int) row {
	switch {
	case s.mode == modeMessage:
		return typed("to "+line(s.target.path)+": ", s.input, w)
	case s.mode == modeFilter:
		return typed("path has: ", s.filter, w)
	case s.mode == modeConfirm:
		return row{{fit("end "+line(s.target.path), max(1, w-30)), alarm}, {" and all agents under it? y/n", alarm}}
	case s.mode == modeItem && s.typing:
		return typed("answer: ", s.input, w)
	case s.notice != "":
		return say(strong, "%s", s.notice)
	}
	return row{{keyHelp(s.mode, w), faint}}
}

// keyHelp are the keys of a screen.
func keyHelp(m mode, w int) string {
	switch m {
	case modeQueue:
		return "j/k move  enter answer  q back"
	case modeItem:
		return "1-9, or up/down and space: choose  tab type  enter send  esc back"
	case modeLog:
		return "j/k PgUp/PgDn scroll  G to the end and on  q back"
	case modeHelp:
		return "any key goes back"
	}
	if w < 110 {
		return "j/k  enter details  u queue  m message  l log  s stop  / filter  ? help  q quit"
	}
	return "j/k move  enter details  u queue  m message  l log  s stop turn  p poke  g gate  x end  / filter  ? help  q quit"
}

// typed shows the end of a line that is typed, with a cursor after it.
func typed(prompt, input string, w int) row {
	prompt, input = fit(prompt, max(0, w*2/3)), clean(input)
	for room := max(0, w-width(prompt)-1); width(input) > room; {
		_, rest := head(input, max(1, width(input)-room))
		if rest == input {
			rest = ""
		}
		input = rest
	}
	return row{{prompt, strong}, {input, normal}, {" ", bar}}
}
