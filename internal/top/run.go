package top

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"substrat.dev/substrat/client"
)

// screen joins the state to the terminal and to the watcher.
type screen struct {
	s Snapshot
	w *watcher
}

// Run shows the agents of a daemon until the person quits or ctx ends.
func Run(ctx context.Context, c *client.Client, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	m := &screen{}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out))
	m.w = newWatcher(c, func(msg any) { p.Send(msg) })
	wg.Go(func() { m.w.run(ctx) })
	_, err := p.Run()
	if errors.Is(err, tea.ErrInterrupted) || ctx.Err() != nil {
		return nil
	}
	return err
}

// Init is part of tea.Model: the watcher brings the first data by itself.
func (m *screen) Init() tea.Cmd { return nil }

// Update is part of tea.Model.
func (m *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var a action
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.s.width, m.s.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		m.s, a = m.s.press(msg.String(), msg.Text)
	case tea.PasteMsg:
		m.s = m.s.paste(msg.Content)
	case Data:
		m.s = m.s.receive(msg)
	case logMsg:
		if msg.agent == m.s.logOf {
			m.s.log = msg.lines
		}
	case noticeMsg:
		m.s.notice, m.s.noticed = string(msg), time.Time{}
	}
	log := ""
	if m.s.mode == modeLog {
		log = m.s.target.id
	}
	m.w.want(m.s.selected, log)
	switch {
	case a.verb == doQuit:
		return m, tea.Quit
	case a.verb != doNothing && !m.w.do(a):
		m.s.notice = "the daemon is slow to answer: try again"
	}
	return m, nil
}

// View is part of tea.Model.
func (m *screen) View() tea.View {
	v := tea.NewView(View(m.s, m.s.width, m.s.height))
	v.AltScreen = true
	v.WindowTitle = "substrat top"
	return v
}
