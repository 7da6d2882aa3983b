package tool

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/sock"
)

// connsMost is how many connections one turn may have: a CLI starts a relay for each of its runs, and some start several.
const connsMost = 16

// acceptPause is the wait after a connection could not be accepted.
const acceptPause = 50 * time.Millisecond

// Listener is an agent's own socket, for one turn.
type Listener struct {
	l      net.Listener
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// Listen opens dir/agent.sock, mode 0600, for one caller and no other user. The directory is made if it is not there; a
// stale socket in it is replaced, a live one is CodeConflict.
func Listen(dir string, caller Caller, host Host, log *slog.Logger) (*Listener, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, substrat.Errorf(substrat.CodeStorage, "cannot make the directory of the agent's socket: %v", err)
	}
	l, err := sock.Listen(filepath.Join(dir, "agent.sock"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	out := &Listener{l: l, cancel: cancel}
	out.wg.Go(func() { out.accept(ctx, caller, host, log) })
	return out, nil
}

// accept serves connections until the listener closes. More than there may be at once wait.
func (l *Listener) accept(ctx context.Context, caller Caller, host Host, log *slog.Logger) {
	slots := make(chan struct{}, connsMost)
	refusals := &audit{host: host, caller: caller}
	for {
		conn, err := l.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, say: it passes
			log.Warn("cannot accept a connection to an agent's socket", "agent", caller.Name, "error", err)
			if !pause(ctx) {
				return
			}
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			_ = conn.Close()
			return
		}
		l.wg.Go(func() {
			defer func() { <-slots }()
			err := belongs(ctx, caller, conn)
			if err != nil {
				log.Warn("refused a connection to an agent's socket", "agent", caller.Name, "error", err)
				_ = conn.Close()
			} else {
				err = Serve(ctx, host, caller, conn)
			}
			refusals.note(ctx, err)
			if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
				log.Debug("an agent's connection ended", "agent", caller.Name, "error", err)
			}
		})
	}
}

// pause waits before the next attempt to accept, and reports whether there is to be one.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(acceptPause):
		return true
	case <-ctx.Done():
		return false
	}
}

// Close ends every connection and waits for them. The socket is removed.
func (l *Listener) Close() error {
	l.cancel()
	err := l.l.Close()
	l.wg.Wait()
	return err
}
