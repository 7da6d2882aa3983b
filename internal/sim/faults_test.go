package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// patience is how long a test waits for a process before it calls it hung.
const patience = 20 * time.Second

func TestRefusals(t *testing.T) {
	for kind, part := range map[string]string{
		"auth":            "Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY environment variable.\n",
		"quota":           "You've hit your usage limit",
		"rate_limit":      "[resource_exhausted] Error",
		"unknown_session": "Failed to claim persistent session for chat \"",
		"bad_model":       "Cannot use this model: auto. Available models: auto, ",
		"locked_store":    "SQLITE_BUSY: database is locked",
		"config_race":     "cli-config.json.tmp' -> '",
	} {
		early := newBox(t).process(scripted(`{"fault":"` + kind + `"}`))
		if early.code != 1 || early.stdout != "" || !strings.Contains(early.stderr, part) {
			t.Errorf("%s at first: %+v", kind, early)
		}
		late := newBox(t).process(scripted(`{"text":"x"},{"fault":"` + kind + `"}`))
		if late.code != 1 || strings.Count(late.stdout, "\n") != 2 || !strings.Contains(late.stderr, part) {
			t.Errorf("%s later: %+v", kind, late)
		}
	}
}

func TestEndings(t *testing.T) {
	for _, c := range []struct {
		fault string
		code  int
		lines int
	}{
		{`{"fault":"no_result"}`, 0, 2},
		{`{"fault":"no_result","early":true}`, 0, 0},
		{`{"fault":"exit","code":9}`, 9, 2},
		{`{"fault":"crash"}`, -1, 2},
		{`{"fault":"crash","early":true}`, -1, 0},
		{`{"text":"a"},{"fault":"torn_line"}`, 0, 2},
	} {
		out := newBox(t).process(scripted(c.fault))
		if out.code != c.code || strings.Count(out.stdout, "\n") != c.lines || strings.Contains(out.stdout, `"result"`) {
			t.Errorf("%s: %+v", c.fault, out)
		}
		if torn := strings.Contains(c.fault, "torn"); torn == (out.stdout == "" || strings.HasSuffix(out.stdout, "\n")) {
			t.Errorf("%s ends with %q", c.fault, out.stdout)
		}
	}
}

func TestNetworkFault(t *testing.T) {
	out := newBox(t).process(scripted(`{"fault":"network"}`))
	var kinds []string
	for _, e := range parseEvents(t, out.stdout) {
		kinds = append(kinds, e.Type+"/"+e.Subtype)
	}
	want := "system/init user/" + strings.Repeat(" connection/reconnecting retry/starting connection/reconnected", 3)
	if got := strings.Join(kinds, " "); got != want || out.code != 1 || !strings.HasPrefix(out.stderr, "RetriableError: [unavailable]") {
		t.Errorf("%s\n%+v", got, out)
	}
	if text := newBox(t).run("-pf", scripted(`{"fault":"refused"}`)); !strings.Contains(text.stdout, "(attempt 3)...\nRetry attempt 3...\n") {
		t.Errorf("text: %+v", text)
	}
}

// lines counts what of a stream is JSON objects, and what not.
func lines(out string) (good, bad int) {
	for line := range strings.Lines(out) {
		var o map[string]any
		if json.Unmarshal([]byte(line), &o) == nil && o != nil {
			good++
		} else {
			bad++
		}
	}
	return good, bad
}

func TestWrongBytes(t *testing.T) {
	const plain = 3 // init, user, final text and result, of which the text is counted below
	noise := newBox(t).process(scripted(`{"fault":"noise"},{"text":"end"}`))
	if good, bad := lines(noise.stdout); good != plain+1 || bad < 6 || noise.code != 0 {
		t.Errorf("noise: %d good, %d bad, %+v", good, bad, noise)
	}
	long := newBox(t).process(scripted(`{"fault":"long_line","bytes":3000000},{"text":"end"}`))
	if good, bad := lines(long.stdout); good != plain+2 || bad != 0 || len(long.stdout) < 3_000_000 {
		t.Errorf("long line: %d good, %d bad, %d bytes", good, bad, len(long.stdout))
	}
	flood := newBox(t).process(scripted(`{"fault":"flood","bytes":300000},{"text":"end"}`))
	if good, bad := lines(flood.stdout); good < 70 || bad != 0 || len(flood.stdout) < 300_000 {
		t.Errorf("flood: %d good, %d bad, %d bytes", good, bad, len(flood.stdout))
	}
	utf := newBox(t).process(scripted(`{"fault":"bad_utf8"},{"text":"end"}`))
	if !strings.Contains(utf.stdout, "\xff\xfe") || utf.code != 0 {
		t.Errorf("bad UTF-8: %+v", utf)
	}
	loud := newBox(t).process(scripted(`{"fault":"stderr_flood","bytes":500000},{"text":"end"}`))
	if len(loud.stderr) != 500_000 || loud.code != 0 {
		t.Errorf("stderr: %d bytes, exit %d", len(loud.stderr), loud.code)
	}
}

// live is a process under test with its lines.
type live struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	errs  bytes.Buffer
}

func (b *box) start(t *testing.T, args ...string) *live {
	t.Helper()
	l := &live{t: t, cmd: b.command(args...)}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.cmd.Stderr = &l.errs
	l.lines = bufio.NewScanner(out)
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(patience, func() { _ = l.cmd.Process.Kill() })
	t.Cleanup(func() {
		watchdog.Stop()
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
	})
	return l
}

// until reads on to the first line with this part.
func (l *live) until(part string) string {
	l.t.Helper()
	for l.lines.Scan() {
		if strings.Contains(l.lines.Text(), part) {
			return l.lines.Text()
		}
	}
	l.t.Fatalf("the stream ended without %s: %s", part, l.errs.String())
	return ""
}

func (l *live) signal(sig syscall.Signal) {
	l.t.Helper()
	if err := l.cmd.Process.Signal(sig); err != nil {
		l.t.Fatal(err)
	}
}

// end waits for the process and gives its exit code, -1 for a signal.
func (l *live) end() int {
	l.t.Helper()
	for l.lines.Scan() {
		if strings.Contains(l.lines.Text(), `"type":"result"`) {
			l.t.Errorf("a result after all: %s", l.lines.Text())
		}
	}
	err := l.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		l.t.Fatal(err)
	}
	return l.cmd.ProcessState.ExitCode()
}

var streaming = []string{"-p", "--force", "--output-format", "stream-json"}

func TestSignals(t *testing.T) {
	for _, c := range []struct {
		name, steps, until string
		sig                syscall.Signal
		code               int
	}{
		{"term in a hang", `{"fault":"hang"}`, `"type":"user"`, syscall.SIGTERM, 143},
		{"int in a sleep", `{"sleep_ms":60000}`, `"type":"user"`, syscall.SIGINT, 130},
		{"term in a command", `{"shell":"echo $$ > pid; trap '' TERM; sleep 60"}`, `"subtype":"started"`, syscall.SIGTERM, 143},
		{"term after the result", `{"text":"x"},{"fault":"hang_after_result"}`, `"type":"result"`, syscall.SIGTERM, 143},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newBox(t).start(t, append(streaming, scripted(c.steps))...)
			l.until(c.until)
			l.signal(c.sig)
			if code := l.end(); code != c.code {
				t.Errorf("exit %d: %s", code, l.errs.String())
			}
			if got := strings.Contains(l.errs.String(), "Aborting operation..."); got != (c.sig == syscall.SIGINT) {
				t.Errorf("stderr %q", l.errs.String())
			}
		})
	}
}

func TestSignalWhileReadingStdin(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b := newBox(t)
	cmd := b.command(streaming...)
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	// A full pipe that has been drained shows that the program reads, and so handles signals.
	if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<18)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit %d", code)
	}
}

func TestIgnoreTerm(t *testing.T) {
	b := newBox(t)
	l := b.start(t, append(streaming, scripted(`{"fault":"ignore_term"},
		{"shell":"while [ ! -e go ]; do sleep 0.01; done"},{"think":"alive"},{"fault":"hang"}`))...)
	l.until(`"subtype":"started"`)
	l.signal(syscall.SIGTERM)
	l.signal(syscall.SIGINT)
	b.write("go", "")
	l.until(`"text":"alive"`)
	l.signal(syscall.SIGKILL)
	l.end()
	if got := l.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGKILL {
		t.Errorf("%v", l.cmd.ProcessState)
	}
}

// procField gives the text after a name in /proc/PID/status.
func procField(t *testing.T, pid int, name string) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), name+":")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}

func TestGrandchildIsDeafAndOnItsOwn(t *testing.T) {
	l := newBox(t).start(t, append(streaming, scripted(`{"fault":"grandchild","seconds":3},{"think":"born"},{"fault":"hang"}`))...)
	l.until(`"text":"born"`)
	children := descendants(t, l.cmd.Process.Pid)
	if len(children) != 1 {
		t.Fatalf("children %v", children)
	}
	child := children[0]
	defer syscall.Kill(child, syscall.SIGKILL) //nolint:errcheck // it ends by itself otherwise
	if session, err := unix.Getsid(child); err != nil || session != child {
		t.Errorf("session %d of %d, %v", session, child, err)
	}
	ignored, err := strconv.ParseUint(procField(t, child, "SigIgn"), 16, 64)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		if err != nil || ignored&(1<<(sig-1)) == 0 {
			t.Errorf("%v is not ignored: %x, %v", sig, ignored, err)
		}
	}
	l.signal(syscall.SIGTERM)
	if code := l.cmd.Wait(); code == nil || syscall.Kill(child, 0) != nil {
		t.Errorf("the program ended with %v, and its grandchild with it", code)
	}
}

func TestGrandchild(t *testing.T) {
	b := newBox(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := b.command(append(streaming, scripted(`{"fault":"grandchild","seconds":2},{"text":"x"}`))...)
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	// Drained, but not at its end: somebody still holds the other side.
	if err := r.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(string(data), `"type":"result"`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestServersAndCommandsEndWithTheProgram(t *testing.T) {
	b := newBox(t)
	b.serveMCP("echo", ".cursor/mcp.json")
	l := b.start(t, append(streaming, "--approve-mcps", scripted(
		`{"mcp":"echo","args":{"text":"x"}},{"shell":"echo $$ > pid; sleep 100","timeout_ms":300},{"mcp":"hang","args":{"text":"x"}}`))...)
	l.until(`"timeout":{`)
	l.until(`"toolName":"hang"`)
	children := descendants(t, l.cmd.Process.Pid)
	if len(children) < 2 {
		t.Fatalf("children %v", children)
	}
	l.signal(syscall.SIGTERM)
	if code := l.end(); code != 143 {
		t.Errorf("exit %d: %s", code, l.errs.String())
	}
	for _, pid := range append(children, atoi(t, strings.TrimSpace(b.read("pid")))) {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is left: %v", pid, err)
		}
	}
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// descendants gives the children of a process.
func descendants(t *testing.T, pid int) (list []int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has ended
		}
		for word := range strings.FieldsSeq(string(data)) {
			list = append(list, atoi(t, word))
		}
	}
	return list
}

func TestKilledTurnCanBeResumed(t *testing.T) {
	b := newBox(t)
	id := uuid.NewString()
	l := b.start(t, append(streaming, "--resume", id, "first "+scripted(`{"shell":"true"},{"fault":"hang"}`))...)
	l.until(`"subtype":"completed"`)
	l.signal(syscall.SIGKILL)
	l.end()
	if got := finalText(t, b.stream("second", "--resume", id)); !strings.Contains(got, `1 earlier message in this chat: "first"`) {
		t.Errorf("answer %q", got)
	}
}
