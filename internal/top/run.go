package top

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Run shows the view until the person quits or ctx ends. changes gives a value whenever something happened; it may be nil.
func Run(ctx context.Context, d Daemon, in io.Reader, out io.Writer, changes <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := tea.NewProgram(&model{ctx: ctx, daemon: d}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out))
	forwarded := make(chan struct{})
	go func() {
		defer close(forwarded)
		for {
			select {
			case _, ok := <-changes:
				if !ok {
					return
				}
				p.Send(eventMsg{})
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(coalesce):
			case <-ctx.Done():
				return
			}
		}
	}()
	_, err := p.Run()
	cancel()
	<-forwarded
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}
