package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// world is one home with the daemon that serves it, seen from outside over its socket.
type world struct {
	t    *testing.T
	bin  string
	home string
	dir  string
	env  []string
	args []string
	// cred is whose processes they are, nil for the tests' own; under is a program that the daemon is run by.
	cred  *syscall.Credential
	under []string
	http  *http.Client

	daemon *exec.Cmd
	exited chan struct{}
	log    *os.File
	// acked are the messages that the daemon said were sent.
	acked []string
}

// patience is how long a test waits for something that should take moments, on a machine that does much else.
const patience = 90 * time.Second

func newWorld(t *testing.T, args ...string) *world {
	return newWorldOf(t, binary(t, ""), nil, args...)
}

func newWorldOf(t *testing.T, bin string, env []string, args ...string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "sub-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, bin: bin, dir: dir, home: filepath.Join(dir, "home"), env: env, args: args}
	w.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", filepath.Join(w.home, "daemon.sock"))
		},
	}}
	if w.log, err = os.Create(filepath.Join(dir, "daemon.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

// space makes a directory to work in. It goes when the daemon has, which may remove its own places from it until then.
func (w *world) space() string {
	w.t.Helper()
	dir, err := os.MkdirTemp(w.dir, "space-")
	if err != nil {
		w.t.Fatal(err)
	}
	return dir
}

func (w *world) close() {
	if w.daemon != nil {
		_ = w.post("/v1/shutdown", map[string]string{"mode": "cancel"}, nil)
		select {
		case <-w.exited:
		case <-time.After(20 * time.Second):
			w.kill()
		}
	}
	for _, pid := range w.living() {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		_ = syscall.Kill(pid, syscall.SIGKILL)
		w.t.Errorf("process %d was left behind: %s %s", pid, stat, bytes.ReplaceAll(cmdline, []byte{0}, []byte(" ")))
	}
	_ = w.log.Close()
	if w.t.Failed() {
		data, _ := os.ReadFile(w.log.Name())
		w.t.Logf("daemon log:\n%s", data[max(0, len(data)-20_000):])
	}
	_ = os.RemoveAll(w.dir)
}

// start runs a daemon and waits until it answers.
func (w *world) start() {
	w.t.Helper()
	w.launch()
	w.until("the daemon to answer", func() bool {
		select {
		case <-w.exited:
			w.t.Fatalf("the daemon ended while starting: %v", w.daemon.ProcessState)
		default:
		}
		return w.get("/v1/status", nil) == nil
	})
}

// launch runs a daemon without waiting for it.
func (w *world) launch() {
	w.t.Helper()
	argv := slices.Concat(w.under, []string{w.bin, "daemon", "run"}, w.args)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), "SUBSTRAT_HOME="+w.home, "GORACE=halt_on_error=1 atexit_sleep_ms=0"), w.env...)
	cmd.Stdout, cmd.Stderr = w.log, w.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: w.cred}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { defer close(exited); _ = cmd.Wait() }()
	w.daemon, w.exited = cmd, exited
}

// kill ends the daemon as a crash would.
func (w *world) kill() {
	w.t.Helper()
	_ = w.daemon.Process.Kill()
	<-w.exited
	w.daemon = nil
}

// until looks again and again. A test sees the daemon from outside, as its users do.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			w.t.Fatalf("gave up waiting for %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (w *world) get(path string, into any) error { return w.do(http.MethodGet, path, nil, into) }

func (w *world) post(path string, body, into any) error {
	return w.do(http.MethodPost, path, body, into)
}

func (w *world) do(method, path string, body, into any) error {
	var r io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(data)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://substrat"+path, r)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := w.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		problem := &substrat.Error{}
		if json.Unmarshal(data, problem) == nil && problem.Code != "" {
			problem.Message = string(data)
			return problem
		}
		return fmt.Errorf("%s %s: %s %s", method, path, res.Status, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

// create makes an agent.
func (w *world) create(n substrat.NewAgent) substrat.Agent {
	w.t.Helper()
	var a substrat.Agent
	if err := w.post("/v1/agents", n, &a); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// send delivers a message from USER and notes that it was acknowledged.
func (w *world) send(ref, text string) string {
	w.t.Helper()
	id, err := w.trySend(ref, text)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) trySend(ref, text string) (string, error) {
	var sent substrat.Sent
	if err := w.post("/v1/agents/"+url.PathEscape(ref)+"/messages", map[string]string{"text": text}, &sent); err != nil {
		return "", err
	}
	if sent.MessageID == "" {
		return "", errors.New("a message was acknowledged without an id")
	}
	w.acked = append(w.acked, sent.MessageID)
	return sent.MessageID, nil
}

// receipt is a final message with its turn.
type receipt struct {
	Message substrat.Message `json:"message"`
	Turn    *substrat.Turn   `json:"turn"`
}

// wait waits until a message is final.
func (w *world) wait(id string) receipt {
	w.t.Helper()
	var r receipt
	w.until("message "+id+" to be final", func() bool {
		m, err := w.message(id)
		return err == nil && m.State.Final()
	})
	if err := w.get("/v1/messages/"+id+"/receipt?wait=5s", &r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) message(id string) (substrat.Message, error) {
	var m substrat.Message
	return m, w.get("/v1/messages/"+id, &m)
}

func (w *world) agent(ref string) substrat.Agent {
	w.t.Helper()
	var a substrat.Agent
	if err := w.get("/v1/agents/"+url.PathEscape(ref), &a); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// turnOf waits until an agent's turn runs a process, and names the turn.
func (w *world) turnOf(ref string) string {
	w.t.Helper()
	var id string
	w.until("a turn of "+ref+" to run", func() bool {
		id = w.agent(ref).Turn
		st, err := os.Stat(filepath.Join(w.home, "turns", id, "run", "stdout"))
		return id != "" && err == nil && st.Size() > 0
	})
	return id
}

// script writes steps the way the simulator reads them.
func script(steps ...any) string {
	data, err := json.Marshal(steps)
	if err != nil {
		panic(err)
	}
	return "<<SCRIPT " + string(data) + " SCRIPT>>"
}

type step map[string]any

// shims lists the live shims of turns, by turn. Their command line says nothing of the turn; the turn's status does.
func (w *world) shims() map[string]int {
	out := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(w.home, "turns", "*", "run", "status.json"))
	for _, file := range files {
		var status struct {
			Shim struct {
				PID int `json:"pid"`
			} `json:"shim"`
		}
		data, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(data, &status) != nil {
			continue
		}
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", status.Shim.PID))
		if bytes.Contains(cmdline, []byte("\x00shim\x00")) {
			out[filepath.Base(filepath.Dir(filepath.Dir(file)))] = status.Shim.PID
		}
	}
	return out
}

// living finds processes of this world: those that name its directory, and those that carry the mark of one of its turns.
func (w *world) living() []int {
	out := slices.Collect(maps.Values(w.shims()))
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(dir), "%d", &pid); err != nil || pid == os.Getpid() {
			continue
		}
		if w.daemon != nil && pid == w.daemon.Process.Pid {
			continue
		}
		if w.owns(dir) {
			out = append(out, pid)
		}
	}
	return out
}

// ownsLive reports whether a live process of a name belongs to this world.
func (w *world) ownsLive(name string) bool {
	files, _ := filepath.Glob(filepath.Join(w.home, "live", "*", "process"))
	return slices.ContainsFunc(files, func(f string) bool { data, _ := os.ReadFile(f); return strings.Contains(string(data), `"`+name+`"`) })
}

func (w *world) owns(proc string) bool {
	if stat, err := os.ReadFile(filepath.Join(proc, "stat")); err != nil || strings.Contains(string(stat), ") Z ") {
		return false
	}
	env, _ := os.ReadFile(filepath.Join(proc, "environ"))
	cmdline, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
	if bytes.Contains(cmdline, []byte(w.dir)) || bytes.Contains(env, []byte(w.dir)) {
		return true
	}
	for _, v := range strings.Split(string(env), "\x00") {
		if id, ok := strings.CutPrefix(v, "SUBSTRAT_TURN="); ok {
			_, err := os.Lstat(filepath.Join(w.home, "turns", strings.TrimSuffix(id, "-session")))
			return err == nil || w.ownsLive(id)
		}
	}
	return false
}
