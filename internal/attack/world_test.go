//go:build attack && linux

package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"substrat.dev/substrat"
)

// world is one daemon with its agents, seen from outside by the user that it runs as.
type world struct {
	dir, bin, home, hostHome string
	http                     *http.Client
	daemon                   *exec.Cmd
	exited                   chan struct{}
	facts                    facts
	hits                     *listeners
	// seen is the last event before the attempt at hand.
	seen int64
	// began is the last event before a batch of attempts, by agent.
	began map[string]int64
	// usual is how long a small turn takes when nothing else goes on.
	usual time.Duration
	// inside has what the attacker's program said of each attempt.
	inside map[string]outcome
	// door says whether an agent can have the network by a door.
	door bool
}

// patience is how long anything that should take moments is waited for.
const patience = 60 * time.Second

// broken is the panic of a harness that cannot go on with an attempt.
type broken struct{ err error }

// must ends the attempt at hand, which then counts as not tried.
func must(err error) {
	if err != nil {
		panic(broken{err})
	}
}

func (w *world) start() {
	must(os.MkdirAll(w.home, 0o700))
	log, err := os.OpenFile(filepath.Join(w.dir, "daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(err)
	defer log.Close()
	cmd := exec.Command(filepath.Join(w.bin, "substrat"), "daemon", "run", "--slots", "8")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.hostHome, "SUBSTRAT_HOME=" + w.home, "SSH_AUTH_SOCK=" + filepath.Join(w.dir, "ssh-agent.sock"),
		"ATTACK_SECRET=" + envCanary, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + filepath.Join(w.dir, "dbus.sock"),
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	must(cmd.Start())
	exited := make(chan struct{})
	go func() { defer close(exited); _ = cmd.Wait() }()
	w.daemon, w.exited = cmd, exited
	w.until("the daemon to answer", func() bool {
		select {
		case <-exited:
			text, _ := os.ReadFile(filepath.Join(w.dir, "daemon.log"))
			must(fmt.Errorf("the daemon ended while starting: %s", text))
		default:
		}
		return w.do(http.MethodGet, "/v1/status", nil, nil) == nil
	})
}

func (w *world) stop() {
	if w.daemon == nil {
		return
	}
	_ = w.do(http.MethodPost, "/v1/shutdown", map[string]string{"mode": "cancel"}, nil)
	select {
	case <-w.exited:
	case <-time.After(20 * time.Second):
		_ = w.daemon.Process.Kill()
		<-w.exited
	}
}

// alive says whether the first daemon still is the one that answers.
func (w *world) alive() bool {
	select {
	case <-w.exited:
		return false
	default:
		return w.do(http.MethodGet, "/v1/status", nil, nil) == nil
	}
}

func (w *world) until(what string, ok func() bool) {
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			must(errors.New("gave up waiting for " + what))
		}
	}
}

func (w *world) do(method, path string, body, into any) error {
	var r io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		must(err)
		r = bytes.NewReader(data)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://substrat"+path, r)
	must(err)
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
		return fmt.Errorf("%s %s: %s %s", method, path, res.Status, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

func (w *world) create(n substrat.NewAgent) substrat.Agent {
	var a substrat.Agent
	if n.Provider == "" {
		n.Provider = "sim"
	}
	must(w.do(http.MethodPost, "/v1/agents", n, &a))
	return a
}

func (w *world) agent(ref string) substrat.Agent {
	var a substrat.Agent
	must(w.do(http.MethodGet, "/v1/agents/"+url.PathEscape(ref), nil, &a))
	return a
}

// end ends an agent, if it is there.
func (w *world) end(ref string) {
	_ = w.do(http.MethodDelete, "/v1/agents/"+url.PathEscape(ref), nil, nil)
}

func (w *world) send(ref, text string) string {
	var sent substrat.Sent
	must(w.do(http.MethodPost, "/v1/agents/"+url.PathEscape(ref)+"/messages", map[string]string{"text": text}, &sent))
	return sent.MessageID
}

type receipt struct {
	Message substrat.Message `json:"message"`
	Turn    *substrat.Turn   `json:"turn"`
}

// wait waits until a message is final.
func (w *world) wait(id string, most time.Duration) (r receipt) {
	for deadline := time.Now().Add(most); ; time.Sleep(10 * time.Millisecond) {
		var m substrat.Message
		must(w.do(http.MethodGet, "/v1/messages/"+id, nil, &m))
		if m.State.Final() {
			break
		}
		if time.Now().After(deadline) {
			must(fmt.Errorf("the message %s is still %s after %v", id, m.State, most))
		}
	}
	must(w.do(http.MethodGet, "/v1/messages/"+id+"/receipt?wait=5s", nil, &r))
	return r
}

// turns lists an agent's turns, oldest first.
func (w *world) turns(ref string) []substrat.Turn {
	var list struct {
		Turns []substrat.Turn `json:"turns"`
	}
	must(w.do(http.MethodGet, "/v1/agents/"+url.PathEscape(ref)+"/turns", nil, &list))
	return list.Turns
}

// step is one of a script for the simulator.
type step map[string]any

func script(steps ...step) string {
	data, err := json.Marshal(steps)
	must(err)
	return "<<SCRIPT " + string(data) + " SCRIPT>>"
}

// turn has an agent do steps, and waits.
func (w *world) turn(ref string, steps ...step) receipt {
	return w.wait(w.send(ref, script(steps...)), 3*time.Minute)
}

// shell has an agent run a command, and gives what it printed.
func (w *world) shell(ref, command string) string {
	r := w.turn(ref, step{"shell": command, "timeout_ms": 170_000}, step{"text": "{{last}}"})
	if r.Turn == nil {
		return ""
	}
	return r.Turn.Text
}

// begin has an agent do steps, and does not wait. It gives the turn once its process runs.
func (w *world) begin(ref string, steps ...step) (message, turn string) {
	message = w.send(ref, script(steps...))
	w.until("a turn of "+ref, func() bool {
		a := w.agent(ref)
		turn = a.Turn
		st, err := os.Stat(filepath.Join(w.home, "turns", turn, "run", "stdout"))
		return turn != "" && err == nil && st.Size() > 0
	})
	return message, turn
}

// cancel stops an agent's turn and waits until it is over.
func (w *world) cancel(ref string) {
	_ = w.do(http.MethodPost, "/v1/agents/"+url.PathEscape(ref)+"/stop", map[string]any{}, nil)
	w.until("the turn of "+ref+" to end", func() bool { return w.agent(ref).Turn == "" })
}

// pulse is how long a small turn of an agent that has nothing to do with it takes: the middle of three.
func (w *world) pulse() time.Duration {
	var took []time.Duration
	for range 3 {
		began := time.Now()
		w.turn("witness", step{"shell": "true"})
		took = append(took, time.Since(began))
	}
	a, b, c := took[0], took[1], took[2]
	return max(min(a, b), min(max(a, b), c))
}

// cli runs a command of substrat's as a person would.
func (w *world) cli(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(w.bin, "substrat"), args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.hostHome, "SUBSTRAT_HOME=" + w.home, "TERM=xterm"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// events are those after a number, without those that only repeat what agents said.
func (w *world) events(after int64) (out []substrat.Event) {
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://substrat/v1/events?follow=false&after=%d", after), nil)
	must(err)
	res, err := w.http.Do(req)
	must(err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	must(err)
	for line := range strings.Lines(string(data)) {
		var e substrat.Event
		if rest, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(rest), &e) == nil {
			out = append(out, e)
		}
	}
	return out
}

// lastEvent is the number of the newest event.
func (w *world) lastEvent() int64 {
	var n int64
	for _, e := range w.events(w.seen) {
		n = max(n, e.Seq)
	}
	return max(n, w.seen)
}

func dialer(home string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(home, "daemon.sock"))
	}}}
}
