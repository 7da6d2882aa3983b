package turn

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
)

// Invariant 5: the starter is killed in the middle of a turn; another process finds it, reads it from the beginning,
// speaks with it and sees its end.
func TestAttachAfterTheStartersDeath(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		mode := "echo"
		r.startFromAnother(mode)
		turn, err := Attach(r.context(), r.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer turn.Close()
		if !turn.Alive() {
			t.Fatal("the turn is not alive")
		}
		if err := turn.Write(r.context(), []byte("hello\n")); err != nil {
			t.Fatal(err)
		}
		r.expect(turn, initLine+"got 5 hello\n")
		if err := turn.CloseStdin(r.context()); err != nil {
			t.Fatal(err)
		}
		exit := r.wait(turn)
		if exit.Reason != Exited || exit.Code != 0 {
			t.Errorf("exit is %+v", exit)
		}
		again, err := Attach(r.context(), r.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		recorded, err := again.Wait(r.context())
		if diff := cmp.Diff(exit, recorded); err != nil || diff != "" || again.Alive() {
			t.Errorf("the record of the ended turn: %v %s", err, diff)
		}
	})
}

// startFromAnother starts the turn from a process that is then killed.
func (r rig) startFromAnother(mode string) {
	r.t.Helper()
	if r.sandboxed {
		mode = "sandboxed/" + mode
	}
	cmd := exec.CommandContext(r.t.Context(), self(r.t), "daemon", r.dir, mode)
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "started\n" {
		r.t.Fatalf("the starter said %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	_ = cmd.Wait()
}

// Everybody who follows a turn sees all of it; a client that does not read holds nobody up.
func TestSeveralReadersAndADeadClient(t *testing.T) {
	r := newRig(t, false)
	spec := r.spec("echo")
	spec.KeepStdin = true
	turn := r.start(spec)
	dead, err := dialCtl(r.context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	if err := dead.(*net.UnixConn).SetReadBuffer(1); err != nil {
		t.Fatal(err)
	}
	other, err := Attach(r.context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for range 300 {
		if err := turn.Write(r.context(), []byte("x\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.CloseStdin(r.context()); err != nil {
		t.Fatal(err)
	}
	want := initLine + strings.Repeat("got 1 x\n", 300) + resultLine
	for _, h := range []*Turn{turn, other} {
		out, err := io.ReadAll(h.NewReader(r.context()))
		if err != nil || string(out) != want {
			t.Errorf("read %d bytes, %v, want %d", len(out), err, len(want))
		}
	}
	r.wait(turn)
}

// Foreign and future messages are ignored, whatever they are.
func TestUnknownMessages(t *testing.T) {
	r := newRig(t, false)
	spec := r.spec("echo")
	spec.KeepStdin = true
	turn := r.start(spec)
	conn, err := dialCtl(r.context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	junk := "\n{}\nnull\n[1]\n{\"v\":99,\"op\":\"cancel\"}\n{\"op\":\"cancel\"}\n\xff\xfe\n{\"v\":1,\"op\":\"sing\",\"id\":7}\n"
	if _, err := io.WriteString(conn, junk); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := decode([]byte(line)); ok && m.ID == 7 {
			if m.Err == "" {
				t.Error("an unknown request was answered as if it were done")
			}
			break
		}
	}
	turn.take(message{V: protocol, Event: "dance"})
	if err := turn.CloseStdin(r.context()); err != nil {
		t.Fatal(err)
	}
	if exit := r.wait(turn); exit.Reason != Exited || exit.Code != 0 {
		t.Errorf("exit is %+v", exit)
	}
}

// A connection that breaks while the turn lives is made anew.
func TestReconnect(t *testing.T) {
	r := newRig(t, false)
	spec := r.spec("echo")
	spec.KeepStdin = true
	turn := r.start(spec)
	turn.mu.Lock()
	turn.conn.Close()
	turn.mu.Unlock()
	for {
		err := turn.Write(r.context(), []byte("again\n"))
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), connectionBroke) {
			t.Fatal(err)
		}
	}
	r.expect(turn, "got 5 again\n")
}

func TestClosedHandle(t *testing.T) {
	r := newRig(t, false)
	turn := r.start(r.spec("hang"))
	other, err := Attach(r.context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	reader := other.NewReader(r.context())
	defer reader.Close()
	if _, err := io.ReadFull(reader, make([]byte, len(initLine))); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	_, waitErr := other.Wait(r.context())
	_, readErr := reader.Read(make([]byte, 1))
	for _, err := range []error{waitErr, readErr, other.Cancel(r.context()), other.Write(r.context(), []byte("x"))} {
		if !errors.Is(err, error(errClosed)) {
			t.Errorf("got %v, want that the handle is closed", err)
		}
	}
	if !turn.Alive() {
		t.Error("closing a handle ended the turn")
	}
}

func TestAttachToNothing(t *testing.T) {
	r := newRig(t, false)
	if _, err := Attach(r.context(), r.dir); substrat.CodeOf(err) != substrat.CodeNotFound {
		t.Errorf("no directory: %v", err)
	}
	// A stale lock: a directory from before a crash of the machine, with a torn record.
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{lockName: r.id, exitName: `{"reas`, ctlName: ""} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	turn, err := Attach(r.context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := turn.Wait(r.context()); err != nil || exit.Reason != ShimLost {
		t.Errorf("exit is %+v, %v, want shim_lost", exit, err)
	}
	if _, err := Start(r.context(), self(t), r.dir, r.spec("text")); substrat.CodeOf(err) != substrat.CodeConflict {
		t.Errorf("Start in a used directory: %v", err)
	}
	if err := Reap(r.context(), r.dir); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := Remove(r.dir); err != nil {
			t.Error(err)
		}
	}
}

func TestReaderHearsItsContext(t *testing.T) {
	r := newRig(t, false)
	turn := r.start(r.spec("hang"))
	r.expect(turn, initLine)
	ctx, cancel := contextWithTimeout(t, 20*time.Millisecond)
	defer cancel()
	reader := turn.NewReaderAt(ctx, int64(len(initLine)))
	if n, err := reader.Read(make([]byte, 10)); n != 0 || !errors.Is(err, ctx.Err()) || err == nil {
		t.Errorf("got %d, %v", n, err)
	}
	if _, err := turn.Wait(ctx); !errors.Is(err, ctx.Err()) {
		t.Errorf("Wait: %v", err)
	}
	if err := turn.Cancel(ctx); !errors.Is(err, ctx.Err()) && err != nil {
		t.Errorf("Cancel: %v", err)
	}
}
