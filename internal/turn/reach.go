package turn

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"substrat.dev/substrat/internal/door"
)

// HostAsk is a host that the process wants to reach and no list names.
type HostAsk struct {
	Host string
	Port int
}

// asksMost bounds the hosts that wait for a word; the door refuses more by itself when their time is over.
const asksMost = 100

func (t *Turn) asked(a HostAsk) {
	t.mu.Lock()
	if len(t.asks) < asksMost && !slices.Contains(t.asks, a) {
		t.asks = append(t.asks, a)
	}
	t.mu.Unlock()
	t.nudgeNet()
}

func (t *Turn) nudgeNet() {
	select {
	case t.net <- struct{}{}:
	default:
	}
}

// NetChanged gets a sign when there are attempts to read, or hosts to decide about. It is for one reader.
func (t *Turn) NetChanged() <-chan struct{} { return t.net }

// TakeAsks gives the hosts that came up since the last call. One that is not decided comes again after a new attachment.
func (t *Turn) TakeAsks() []HostAsk {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.asks
	t.asks = nil
	return out
}

// Decide is the word on a host, for as long as the process lives. After its end it does nothing.
func (t *Turn) Decide(ctx context.Context, a HostAsk, allow bool) error {
	return ignoreEnded(t.request(ctx, message{Op: opHost, Host: a.Host, Port: a.Port, Allow: allow}))
}

// attemptMost bounds one line of the file.
const attemptMost = 64 << 10

// Attempts reads what a turn's process tried to reach, from an offset on. next is where to go on. A line that is not whole yet is left
// for the next time; one that makes no sense is passed over.
func Attempts(dir string, from int64) (list []door.Attempt, next int64, err error) {
	f, err := os.Open(filepath.Join(dir, netName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, from, err
	}
	lines := bufio.NewReaderSize(f, attemptMost)
	for next = from; ; {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return list, next, nil
		}
		next += int64(len(line))
		if err != nil {
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			return list, next, err
		}
		var a door.Attempt
		if json.Unmarshal(line, &a) == nil {
			list = append(list, a)
		}
	}
}
