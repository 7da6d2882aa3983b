package top

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"substrat.dev/substrat"
)

// screen is what fills the terminal.
type screen int

const (
	treeScreen screen = iota
	queueScreen
	turnsScreen
	helpScreen
)

// ask is a line that is being typed, or a question that takes y.
type ask struct {
	title string
	text  []rune
	yes   bool // y does it, anything else does not
	do    func(text string) tea.Cmd
}

// model is the state of the view.
type model struct {
	ctx    context.Context //nolint:containedctx // the life of the program
	daemon Daemon

	snap   Snapshot
	w, h   int
	screen screen
	ask    *ask
	filter string
	// selected is the path under the cursor, item that of the queue, scroll the first line of a long screen.
	selected string
	item     int
	scroll   int
	// said is what the last action answered.
	said string
	// busy says that a snapshot is being taken, stale that something happened since, last when the last one was taken.
	busy, stale bool
}

type (
	snapMsg  struct{ snap Snapshot }
	tickMsg  struct{}
	eventMsg struct{}
	saidMsg  struct{ text string }
)

// The paces of the view.
const (
	refreshEvery = 2 * time.Second
	coalesce     = 200 * time.Millisecond
)

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return tea.Batch(m.fetch(), tick()) }

func tick() tea.Cmd {
	return tea.Tick(refreshEvery, func(time.Time) tea.Msg { return tickMsg{} })
}

// fetch takes a snapshot, unless one is being taken: then another follows it.
func (m *model) fetch() tea.Cmd {
	if m.busy {
		m.stale = true
		return nil
	}
	m.busy, m.stale = true, false
	before, selected := m.snap, m.selected
	return func() tea.Msg { return snapMsg{take(m.ctx, m.daemon, before, selected)} }
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.press(msg.String(), msg.Key().Text)
	case tickMsg:
		return m, tea.Batch(m.fetch(), tick())
	case eventMsg:
		return m, m.fetch()
	case saidMsg:
		m.said = msg.text
		return m, m.fetch()
	case snapMsg:
		m.busy, m.snap = false, msg.snap
		m.keepCursor()
		if m.stale {
			// What happened while this one was taken is shown soon, but no more than five times a second.
			return m, tea.Tick(coalesce, func(time.Time) tea.Msg { return eventMsg{} })
		}
	}
	return m, nil
}

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(m.render())
	v.AltScreen = true
	return v
}

// shown are the agents that fit the filter.
func (m *model) shown() []substrat.Agent {
	if m.filter == "" {
		return m.snap.Agents
	}
	var out []substrat.Agent
	for _, a := range m.snap.Agents {
		if strings.Contains(strings.ToLower(a.Path+" "+string(a.State)), strings.ToLower(m.filter)) {
			out = append(out, a)
		}
	}
	return out
}

// index is where the cursor is among the agents that are shown.
func (m *model) index() int {
	for i, a := range m.shown() {
		if a.Path == m.selected {
			return i
		}
	}
	return 0
}

// keepCursor keeps the cursor on something that is there.
func (m *model) keepCursor() {
	list := m.shown()
	if len(list) > 0 {
		m.selected = list[m.index()].Path
	} else {
		m.selected = ""
	}
	m.item = max(0, min(m.item, len(m.snap.Queue)-1))
}

// move moves the cursor of the screen.
func (m *model) move(by int) tea.Cmd {
	switch m.screen {
	case queueScreen:
		m.item = max(0, min(m.item+by, len(m.snap.Queue)-1))
	case treeScreen:
		list := m.shown()
		if len(list) == 0 {
			return nil
		}
		m.selected = list[max(0, min(m.index()+by, len(list)-1))].Path
		return m.fetch()
	default:
		m.scroll = max(0, m.scroll+by)
	}
	return nil
}
