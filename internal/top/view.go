package top

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"substrat.dev/substrat"
)

// The styles. Nothing is said by colour alone: every state is also a word.
const (
	bold    = "\x1b[1m"
	dim     = "\x1b[2m"
	inverse = "\x1b[7m"
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	blue    = "\x1b[34m"
	plain   = "\x1b[0m"
)

// safe writes out what a terminal would obey, and makes one line.
func safe(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Mn, r), unicode.Is(unicode.Co, r), r >= 0xE0000 && r <= 0xE007F:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fit makes a text exactly so wide, without escape sequences in it.
func fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	s = ansi.Truncate(s, w, "…")
	return s + strings.Repeat(" ", max(0, w-ansi.StringWidth(s)))
}

func paint(style, s string) string {
	if style == "" {
		return s
	}
	return style + s + plain
}

// render draws the whole screen: never wider than the terminal and never higher.
func (m *model) render() string {
	if m.w < 20 || m.h < 6 {
		return fit("too small", m.w)
	}
	lines := []string{m.header()}
	body := m.h - 2
	switch m.screen {
	case queueScreen:
		lines = append(lines, m.queueLines(body)...)
	case turnsScreen:
		lines = append(lines, m.turnLines(body)...)
	case helpScreen:
		lines = append(lines, window(helpLines(m.w), &m.scroll, body, m.w)...)
	default:
		lines = append(lines, m.mainLines(body)...)
	}
	for len(lines) < m.h-1 {
		lines = append(lines, fit("", m.w))
	}
	return strings.Join(append(lines[:m.h-1], m.footer()), "\n")
}

func (m *model) header() string {
	s := m.snap.Status
	if m.snap.Away != "" {
		return paint(inverse, fit(" substrat  "+safe(m.snap.Away), m.w))
	}
	pending := 0
	for _, a := range m.snap.Agents {
		pending += a.Pending
	}
	text := fmt.Sprintf(" substrat  slots %d/%d  agents %d  mail %d  needs you %d", s.Turns, s.Slots, len(m.snap.Agents), pending, len(m.snap.Queue))
	if s.Draining {
		text += "  DRAINING"
	}
	clock := m.snap.At.Format("15:04:05 ")
	return paint(inverse, fit(text, m.w-len(clock))+clock)
}

func (m *model) footer() string {
	switch {
	case m.ask != nil && m.ask.yes:
		return paint(bold, fit(" "+safe(m.ask.title), m.w))
	case m.ask != nil:
		head := " " + safe(m.ask.title) + ": "
		text := safe(string(m.ask.text))
		// The end of what is typed stays to be seen.
		if over := ansi.StringWidth(head+text) + 1 - m.w; over > 0 {
			text = ansi.TruncateLeft(text, over+1, "…")
		}
		return paint(bold, fit(head+text+"_", m.w))
	case m.said != "":
		return paint(yellow, fit(" "+safe(m.said), m.w))
	}
	keys := " enter turns  m message  s stop  x end  p poke  g gate  u queue  / find  ? help"
	switch m.screen {
	case queueScreen:
		keys = " ↑↓ enter answer  q back"
	case turnsScreen, helpScreen:
		keys = " ↑↓ scroll  q back"
	}
	return paint(dim, fit(keys, m.w))
}

// mainLines are the tree, what is known of the selected agent, and the head of the queue.
func (m *model) mainLines(h int) []string {
	queue := m.queueHead(min(3, h/4))
	h -= len(queue)
	if m.w >= 120 {
		left := m.w * 3 / 5
		tree, detail := m.treeLines(left, h), m.detailLines(m.w-left-3, h)
		var out []string
		for i := range h {
			out = append(out, tree[i]+paint(dim, " │ ")+detail[i])
		}
		return append(out, queue...)
	}
	below := min(9, h/2)
	out := m.treeLines(m.w, h-below)
	out = append(out, paint(dim, strings.Repeat("─", m.w)))
	return append(append(out, m.detailLines(m.w, below-1)...), queue...)
}

// treeLines are the agents, h lines of them, with the cursor among them.
func (m *model) treeLines(w, h int) []string {
	list := m.shown()
	state, mail, turns := 11, 5, 6
	name := max(12, min(40, (w-state-mail-turns)/2))
	rest := max(0, w-name-state-mail-turns-1)
	title := " " + fit("AGENT", name) + fit("STATE", state) + fit("MAIL", mail) + fit("TURNS", turns) + fit("DOES, WAITS FOR", rest)
	out := []string{paint(dim, fit(title, w))}
	rows := h - 1
	at := m.index()
	first := max(0, min(at-rows/2, len(list)-rows))
	for i := first; i < len(list) && len(out) < h; i++ {
		a := list[i]
		label := safe(a.Path)
		if m.filter == "" {
			label = strings.Repeat("  ", strings.Count(a.Path, "/")) + safe(a.Name)
		}
		head, tail := " "+fit(label, name), fit(fmt.Sprint(a.Pending), mail)+fit(fmt.Sprint(a.Turns), turns)+fit(doing(a, m.snap.At), rest)
		word := fit(safe(string(a.State)), state)
		switch whole := head + word + tail; {
		case i == at:
			out = append(out, paint(inverse, fit(whole, w)))
		case ansi.StringWidth(whole) > w:
			out = append(out, fit(whole, w))
		default:
			out = append(out, head+paint(colourOf(a.State), word)+tail+fit("", w-ansi.StringWidth(whole)))
		}
	}
	if len(list) == 0 && h > 1 {
		text := " no agents: substrat agent create NAME makes one"
		if m.filter != "" {
			text = " no agent fits " + safe(m.filter)
		}
		out = append(out, fit(text, w))
	}
	for len(out) < h {
		out = append(out, fit("", w))
	}
	return out[:h]
}

func colourOf(s substrat.AgentState) string {
	switch s {
	case substrat.Busy:
		return green
	case substrat.Waiting:
		return blue
	case substrat.Gated:
		return yellow
	case substrat.Failed:
		return red
	default:
		return ""
	}
}

// doing says in a few words what an agent is about.
func doing(a substrat.Agent, now time.Time) string {
	switch {
	case len(a.WaitingFor) > 0:
		return safe("waits for " + strings.Join(a.WaitingFor, ", "))
	case a.RetryAt != nil:
		return safe("tries again in " + a.RetryAt.Sub(now).Round(time.Second).String() + ": " + a.LastError)
	case a.LastError != "":
		return safe(a.LastError)
	case a.State == substrat.Busy:
		return "a turn is running"
	default:
		return ""
	}
}

// detailLines are what is known of the selected agent.
func (m *model) detailLines(w, h int) []string {
	var out []string
	add := func(style, format string, args ...any) {
		out = append(out, paint(style, fit(fmt.Sprintf(format, args...), w)))
	}
	if why := m.snap.Why; why != nil && why.Agent.Path == m.selected {
		a := why.Agent
		add(bold, "%s  %s, %s, sandbox %s, net %s", safe(a.Path), a.Provider, a.Role, a.Sandbox, a.Network)
		for _, r := range why.Reasons {
			text := "waits for " + safe(r.Text)
			if r.Since != nil {
				text += ", since " + m.snap.At.Sub(*r.Since).Round(time.Second).String()
			}
			add("", " %s", text)
		}
		if len(why.WaitedOnBy) > 0 {
			add("", " %s waits for it", safe(strings.Join(why.WaitedOnBy, ", ")))
		}
		for _, next := range why.Next[:min(len(why.Next), 2)] {
			add("", " next: %s from %s: %s", next.Kind, safe(next.From), safe(next.Text))
		}
		if s := a.SpentBelow; s != nil {
			add(dim, " used with all under it: %d turns, %s, %d tokens, $%.2f", s.Turns, (time.Duration(s.WallMS) * time.Millisecond).Round(time.Second), s.Tokens, float64(s.CostMicros)/1e6)
		}
	}
	for i := len(m.snap.Turns) - 1; i >= 0 && len(out) < h; i-- {
		t := m.snap.Turns[i]
		add(outcomeColour(t), " turn %d %s %s: %s", t.Number, outcomeWord(t), took(t, m.snap.At), safe(firstOf(t.Detail, t.Text)))
	}
	for len(out) < h {
		out = append(out, fit("", w))
	}
	return out[:h]
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return strings.TrimSpace(t)
		}
	}
	return ""
}

func outcomeWord(t substrat.Turn) string {
	if t.Outcome == "" {
		return "running"
	}
	return string(t.Outcome)
}

func outcomeColour(t substrat.Turn) string {
	switch t.Outcome {
	case substrat.FailedTurn, substrat.TimedOut:
		return red
	case "":
		return green
	default:
		return ""
	}
}

func took(t substrat.Turn, now time.Time) string {
	if t.EndedAt != nil {
		now = *t.EndedAt
	}
	return max(now.Sub(t.StartedAt), 0).Round(time.Second / 10).String()
}

// queueHead is the beginning of the queue, under the tree.
func (m *model) queueHead(most int) []string {
	n := len(m.snap.Queue)
	if n == 0 || most < 2 {
		return nil
	}
	title := fmt.Sprintf("── needs you: %d (u) ", n)
	out := []string{paint(yellow, fit(title+strings.Repeat("─", max(0, m.w-ansi.StringWidth(title))), m.w))}
	for _, x := range m.snap.Queue[:min(n, most-1)] {
		out = append(out, fit(fmt.Sprintf(" %s  %s  %s", x.Kind, safe(x.Agent), safe(x.Text)), m.w))
	}
	return out
}

// queueLines are the whole queue, with the item under the cursor in full.
func (m *model) queueLines(h int) []string {
	var out []string
	if len(m.snap.Queue) == 0 {
		return []string{fit(" nothing needs you", m.w)}
	}
	list := min(len(m.snap.Queue), max(3, h/3))
	first := max(0, min(m.item-list/2, len(m.snap.Queue)-list))
	for i := first; i < first+list; i++ {
		x := m.snap.Queue[i]
		style := ""
		if i == m.item {
			style = inverse
		}
		line := fmt.Sprintf(" %-10s  %-24s %5s  %s", x.Kind, safe(x.Agent), m.snap.At.Sub(x.CreatedAt).Round(time.Second), safe(x.Text))
		out = append(out, paint(style, fit(line, m.w)))
	}
	x := m.snap.Queue[m.item]
	out = append(out, paint(dim, strings.Repeat("─", m.w)))
	for _, l := range strings.Split(x.Text, "\n") {
		for part := range strings.SplitSeq(ansi.Wrap(safe(l), m.w-2, ""), "\n") {
			out = append(out, fit(" "+part, m.w))
		}
	}
	out = out[:min(len(out), max(0, h-len(x.Options)-2))]
	for i, o := range x.Options {
		out = append(out, paint(bold, fit(fmt.Sprintf("  %d  %s", i+1, safe(o)), m.w)))
	}
	if x.Deadline != nil {
		text := " until " + x.Deadline.Local().Format("2 Jan 15:04")
		if x.Default != "" {
			text += ", then: " + safe(x.Default)
		}
		out = append(out, paint(dim, fit(text, m.w)))
	}
	return out[:min(len(out), h)]
}

// turnLines are what the selected agent said in its last turns.
func (m *model) turnLines(h int) []string {
	var all []string
	for i := len(m.snap.Turns) - 1; i >= 0; i-- {
		t := m.snap.Turns[i]
		all = append(all, paint(bold, fit(fmt.Sprintf(" turn %d of %s  %s  %s", t.Number, safe(t.Agent), outcomeWord(t), took(t, m.snap.At)), m.w)))
		text := strings.TrimSpace(t.Text)
		if t.Detail != "" {
			text = strings.TrimSpace(t.Detail + "\n" + text)
		}
		for l := range strings.SplitSeq(text, "\n") {
			for part := range strings.SplitSeq(ansi.Wrap(safe(l), max(1, m.w-4), ""), "\n") {
				all = append(all, fit("   "+part, m.w))
			}
		}
	}
	if len(all) == 0 {
		all = []string{fit(" no turns yet", m.w)}
	}
	return window(all, &m.scroll, h, m.w)
}

// window gives h lines from the scroll position on, which it keeps in bounds.
func window(all []string, scroll *int, h, w int) []string {
	*scroll = max(0, min(*scroll, len(all)-h))
	out := append([]string(nil), all[*scroll:min(len(all), *scroll+h)]...)
	for len(out) < h {
		out = append(out, fit("", w))
	}
	return out
}

func helpLines(w int) []string {
	var out []string
	for l := range strings.SplitSeq(help, "\n") {
		out = append(out, fit(" "+l, w))
	}
	return out
}

const help = `
The tree shows every agent with its state:
  idle      it has nothing to do
  busy      a turn is running
  waiting   for a reply, or for you
  gated     its gate is down: mail does not wake it
  failed    its last turn failed for good

up, down, j, k, page up, page down   move
enter, l   what the agent said in its last turns (substrat log shows all)
m          send it a message
s          stop its turn
p          poke: retry a failed turn now
g          put its gate down, or lift it
x          end it and everything under it (asks first)
u          what needs you: questions, permissions, budgets, held messages
/          show only agents with a word in path or state
r          look again now
q, ctrl+c  quit`
