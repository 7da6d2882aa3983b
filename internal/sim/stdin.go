package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// maxPrompt bounds what is read from stdin.
const maxPrompt = 64 << 20

// isTerminal says whether a stream is a terminal; what is not a file is none.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// readPrompt reads stdin to its end, or until ctx is done.
func (a *app) readPrompt(ctx context.Context) (string, error) {
	if a.stdin == nil || isTerminal(a.stdin) {
		return "", nil
	}
	reader := a.stdin
	if file, ok := a.stdin.(*os.File); ok {
		polled, err := newPolledReader(ctx, file)
		if err != nil {
			return "", err
		}
		defer polled.close()
		reader = polled
	}
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(reader, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the prompt: %w", err)
	}
	if n > maxPrompt {
		return "", refuse("Error: the prompt is longer than %d bytes", maxPrompt)
	}
	return text.String(), nil
}

// polledReader reads a file that may block for ever, and gives up when the context ends. A plain goroutine around Read
// could not be waited for.
type polledReader struct {
	ctx          context.Context
	file         *os.File
	wake, notify *os.File
	stop         func() bool
}

func newPolledReader(ctx context.Context, file *os.File) (*polledReader, error) {
	wake, notify, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot watch stdin: %w", err)
	}
	r := &polledReader{ctx: ctx, file: file, wake: wake, notify: notify}
	r.stop = context.AfterFunc(ctx, func() { _, _ = notify.Write([]byte{0}) })
	return r, nil
}

func (r *polledReader) close() {
	r.stop()
	_ = r.notify.Close()
	_ = r.wake.Close()
}

func (r *polledReader) Read(p []byte) (int, error) {
	fds := []unix.PollFd{
		{Fd: int32(r.file.Fd()), Events: unix.POLLIN},
		{Fd: int32(r.wake.Fd()), Events: unix.POLLIN},
	}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case fds[1].Revents != 0:
			return 0, context.Cause(r.ctx)
		}
		return r.file.Read(p)
	}
}
