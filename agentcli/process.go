package agentcli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"substrat.dev/substrat"
)

// process is an agent's program under a bare host, in a session and group of its own. It is a Conn.
//
// Its goroutines: one reads standard output a frame at a time as it is asked to, one keeps the tail of standard error,
// one writes standard input, one waits for the process. All have ended when end returns.
type process struct {
	cmd    *exec.Cmd
	home   string
	mark   string
	limits Limits

	stdin  *os.File
	stdout *output
	stderr tail
	noise  tail

	writing sync.Mutex
	want    chan struct{}
	frames  chan reading
	asked   bool // a frame was asked for and not taken; for the reader of the conversation only
	heard   atomic.Int64
	flooded chan struct{}

	gone  chan struct{} // closed when the process itself has ended
	quit  chan struct{} // closed when nobody reads any more
	owned sync.WaitGroup
	once  sync.Once
}

type reading struct {
	frame Frame
	err   error
}

// tailMost is how much is kept of what a program says beside its frames.
const tailMost = 64 << 10

// markName is the variable by which the processes of a run are found again when they have left its group.
const markName = "SUBSTRAT_RUN"

// drainGrace is how long standard output may be silent after the process has ended, while something else holds it open.
const drainGrace = 500 * time.Millisecond

func startProcess(x plan, limits Limits) (*process, error) {
	id := make([]byte, 12)
	_, _ = rand.Read(id)
	p := &process{
		home: x.home, mark: markName + "=" + hex.EncodeToString(id), limits: limits, stderr: tail{most: tailMost}, noise: tail{most: tailMost},
		want: make(chan struct{}), frames: make(chan reading, 1), flooded: make(chan struct{}), gone: make(chan struct{}), quit: make(chan struct{}),
	}
	argv := x.command.Argv
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Dir, p.cmd.Env = x.request.Dir, slices.Concat(x.env, []string{p.mark})
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var pipes [3][2]*os.File
	var err error
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			break
		}
	}
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
		err = p.cmd.Start()
	}
	closeAll(pipes[0][0], pipes[1][1], pipes[2][1])
	if err != nil {
		closeAll(pipes[0][1], pipes[1][0], pipes[2][0])
		return nil, startError(argv[0], err)
	}
	p.stdin, p.stdout = pipes[0][1], &output{file: pipes[1][0]}
	p.heard.Store(time.Now().UnixNano())
	p.owned.Go(p.pump)
	p.owned.Go(func() { p.keepStderr(pipes[2][0]) })
	p.owned.Go(p.wait)
	p.writing.Lock() // until it is fed
	p.owned.Go(func() { p.feed(x.command.Stdin, x.command.KeepStdin) })
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func startError(name string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return substrat.Errorf(substrat.CodeNotInstalled, "cannot start %s: it is not installed, or not in PATH", name).
			WithHint("substrat providers says what is missing and how to get it")
	}
	return substrat.Errorf(substrat.CodeUnsupported, "cannot start %s: %v", name, err)
}

// feed writes what standard input begins with, and closes it unless it is kept. Frames wait until it is written.
func (p *process) feed(data []byte, keep bool) {
	defer p.writing.Unlock()
	if len(data) > 0 {
		_, _ = p.stdin.Write(data) // a program that does not read its prompt says why itself
	}
	if !keep {
		_ = p.stdin.Close()
	}
}

// CloseInput implements InputCloser.
func (p *process) CloseInput() error { return p.stdin.Close() }

// wait waits for the process. What it left behind in its group goes with it.
func (p *process) wait() {
	_ = p.cmd.Wait()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	killMarked(p.mark)
	p.stdout.exited.Store(true)
	_ = p.stdout.file.SetReadDeadline(time.Now().Add(drainGrace))
	close(p.gone)
}

// pump reads frames, one for each that is wanted.
func (p *process) pump() {
	lines := NewLineReader(p.stdout, p.limits.Line)
	for {
		select {
		case <-p.want:
		case <-p.quit:
			return
		}
		f, err := lines.ReadFrame(context.Background())
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
			err = io.EOF
		}
		p.heard.Store(time.Now().UnixNano())
		if len(f.Data) > 0 && f.Data[0] != '{' {
			p.noise.add(append(f.Data[:len(f.Data):len(f.Data)], '\n'))
		}
		if f.End > p.limits.Output {
			p.once.Do(func() { close(p.flooded) })
			f, err = Frame{}, io.EOF
		}
		p.frames <- reading{f, err}
		if err != nil {
			return
		}
	}
}

// ReadFrame implements Conn.
func (p *process) ReadFrame(ctx context.Context) (Frame, error) {
	if !p.asked {
		select {
		case p.want <- struct{}{}:
			p.asked = true
		case r := <-p.frames: // the last word of a pump that has ended
			p.frames <- r
			return r.frame, r.err
		case <-ctx.Done():
			return Frame{}, ctx.Err()
		}
	}
	select {
	case r := <-p.frames:
		p.asked = false
		if r.err != nil {
			p.frames <- reading{err: r.err}
		}
		return r.frame, r.err
	case <-ctx.Done():
		return Frame{}, ctx.Err()
	}
}

// WriteFrame implements Conn. A process that has ended, or closed its input, is a conflict.
func (p *process) WriteFrame(ctx context.Context, line []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.stdin.SetWriteDeadline(time.Now()) })
	_, err := p.stdin.Write(append(line[:len(line):len(line)], '\n'))
	if !stop() {
		_ = p.stdin.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrClosed):
		return ErrNoStdin
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return substrat.Errorf(substrat.CodeConflict, "cannot write to the agent: it no longer reads: %v", err)
}

func (p *process) keepStderr(from *os.File) {
	defer func() { _ = from.Close() }()
	stop := make(chan struct{})
	defer close(stop)
	p.owned.Go(func() {
		select {
		case <-p.gone:
			_ = from.SetReadDeadline(time.Now().Add(drainGrace))
		case <-stop:
		}
	})
	_, _ = io.Copy(&p.stderr, from)
}

func (p *process) alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}
