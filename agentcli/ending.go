package agentcli

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// end sees the process off when nobody converses with it any more. Nothing of it is left when end returns.
func (p *process) end(grace time.Duration) {
	close(p.quit)
	// What it prints now is of no interest, but a program that cannot print may end before it has saved its conversation.
	p.owned.Go(func() { _, _ = io.Copy(io.Discard, p.stdout) })
	p.stop(grace)
	_ = p.stdout.file.Close()
	p.owned.Wait()
}

// stop lets the process end by itself within grace, asks it to by SIGTERM, and kills it after another grace, with
// everything it started.
func (p *process) stop(grace time.Duration) {
	_ = p.stdin.Close()
	if !p.endsWithin(grace) {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
		if !p.endsWithin(grace) {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			<-p.gone
		}
	}
	// A process that was being started while the others were killed can have got away once. One that the kernel does not
	// let go of is not waited for.
	for range 2000 {
		if !killMarked(p.mark) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (p *process) endsWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.gone:
		return true
	case <-t.C:
		return false
	}
}

// exit tells how a process that is gone has ended.
func (p *process) exit() Exit {
	e := Exit{Stderr: p.stderr.bytes(), Stdout: p.noise.bytes()}
	<-p.gone
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Code, e.Signal = -1, signalName(ws.Signal())
		return e
	}
	e.Code = p.cmd.ProcessState.ExitCode()
	return e
}

// output is a process's standard output. Once the process has ended, a read of it waits for drainGrace at most: a stranger
// that inherited the pipe does not keep the reader.
type output struct {
	file   *os.File
	exited atomic.Bool
}

func (o *output) Read(b []byte) (int, error) {
	if o.exited.Load() {
		_ = o.file.SetReadDeadline(time.Now().Add(drainGrace))
	}
	return o.file.Read(b)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	most int
	data []byte
}

func (t *tail) add(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	if over := len(t.data) - t.most; over > t.most {
		t.data = append(t.data[:0], t.data[over:]...)
	}
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.add(b)
	return len(b), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.data[max(0, len(t.data)-t.most):]...)
}
