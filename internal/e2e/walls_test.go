package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// configure writes substrat.toml before the daemon starts.
func (w *world) configure(text string) {
	w.t.Helper()
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.home, "substrat.toml"), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// attempts lists what an agent tried to reach, as "verdict host:port".
func (w *world) attempts(ref string) []string {
	w.t.Helper()
	var list struct{ Attempts []substrat.Attempt }
	if err := w.get("/v1/agents/"+ref+"/net", &list); err != nil {
		w.t.Fatal(err)
	}
	out := []string{}
	for _, a := range list.Attempts {
		out = append(out, fmt.Sprintf("%s %s:%d", a.Verdict, a.Host, a.Port))
	}
	return out
}

// TestDoor: an agent with network door reaches what the configuration names and nothing else; what it tried is in its list and in
// the journal; a daemon's death cuts no connection.
func TestDoor(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	release := make(chan struct{})
	host := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			_, _ = io.WriteString(rw, "first ")
			rw.(http.Flusher).Flush()
			<-release
			_, _ = io.WriteString(rw, "last")
			return
		}
		_, _ = io.WriteString(rw, "here you are")
	}))
	defer host.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var reached atomic.Int32
	go func() {
		for {
			c, err := other.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			c.Close()
		}
	}()
	w := newWorld(t)
	w.configure(fmt.Sprintf("[network]\nallow = [%q]\n", host.Listener.Addr().String()))
	w.start()
	dir := w.create(substrat.NewAgent{Name: "a", Network: substrat.NetworkDoor}).Dir
	id := w.send("a", script(
		step{"shell": "curl -sS -m 10 " + host.URL + "/file"},
		step{"shell": "curl -sS -m 5 http://" + other.Addr().String() + "/; curl -sS -m 5 http://169.254.169.254/; curl -sS -m 5 -k https://192.0.2.7/; curl -sS -m 5 http://unlisted.example/; true"},
		step{"shell": "curl -sSN -m 60 " + host.URL + "/slow > got; cat got"},
		step{"text": "done"}))
	turnID := w.turnOf("a")
	w.until("the slow answer to begin", func() bool {
		data, _ := os.ReadFile(filepath.Join(dir, "got"))
		return string(data) == "first "
	})
	w.kill()
	close(release)
	w.start()
	r := w.wait(id)
	if r.Turn.ID != turnID || r.Turn.Outcome != substrat.Completed || r.Message.Attempts != 1 {
		t.Errorf("turn %+v", r.Turn)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "got")); string(data) != "first last" {
		t.Errorf("across the daemon's death came %q", data)
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("a listener of the host that nobody named was reached %d times", n)
	}
	got := w.attempts("a")
	for _, want := range []string{"allowed " + host.Listener.Addr().String(), "denied 169.254.169.254:80", "denied :443", "denied unlisted.example:0"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	seen := map[string]int{}
	for _, e := range w.events() {
		if e.Type != "net.attempt" {
			continue
		}
		var x struct {
			Host, Verdict string
			Port          int
		}
		if err := json.Unmarshal(e.Data, &x); err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprintf("%s %s:%d", x.Verdict, x.Host, x.Port)]++
	}
	for _, want := range []string{"allowed " + host.Listener.Addr().String(), "denied 169.254.169.254:80"} {
		if seen[want] == 0 || seen[want] > 2 { // once by each daemon that followed the turn
			t.Errorf("%q is %d times in the journal: %v", want, seen[want], seen)
		}
	}
}

// TestDoorAsks: a host that no list names waits for a person, whose word counts at once, and "always" for every turn to come.
func TestDoorAsks(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.configure("[network]\ndefault = \"ask\"\n")
	w.start()
	w.create(substrat.NewAgent{Name: "a", Network: substrat.NetworkDoor})
	fetch := func(host string) string {
		return script(step{"shell": "curl -sS -m 40 http://" + host + "/ || true"}, step{"text": "done"})
	}
	answer := func(host, choice string) {
		t.Helper()
		x := w.open()
		if x.Kind != substrat.ItemPermission || !strings.Contains(x.Text, host) {
			t.Errorf("asked about %s: %+v", host, x)
		}
		w.answer(x.ID, substrat.Answer{Choices: []string{choice}})
	}
	denied, always := "no.invalid", "yes.invalid"
	id := w.send("a", fetch(denied))
	answer(denied, "deny")
	w.wait(id)
	id = w.send("a", fetch(always))
	answer(always, "always")
	w.wait(id)
	id = w.send("a", fetch(always)) // nobody is asked again
	w.wait(id)
	got := w.attempts("a")
	// What was let through fails afterwards: there is no such name.
	if !slices.Contains(got, "denied "+denied+":80") && !slices.Contains(got, "denied "+denied+":0") {
		t.Errorf("the denied host is not told of: %q", got)
	}
	n := 0
	for _, x := range got {
		if x == "failed "+always+":80" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("the allowed host was tried %d times: %q", n, got)
	}
}

// TestKeyOutside: the process has a placeholder, the provider's host gets the key, and the key is nowhere else.
func TestKeyOutside(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	key := "sk-ant-canary-" + fmt.Sprint(time.Now().UnixNano())
	var got atomic.Value
	host := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("x-api-key"))
		_, _ = io.WriteString(rw, "ok")
	}))
	defer host.Close()
	dir := t.TempDir()
	program := filepath.Join(dir, "claude")
	// It stands for the real one, as far as it uses a key: it sends the one it has to the address it is given.
	text := `#!/bin/sh
cat >/dev/null
said=$(curl -sS -m 10 -H "x-api-key: $ANTHROPIC_API_KEY" "$ANTHROPIC_BASE_URL/v1/messages" 2>&1)
echo '{"type":"system","subtype":"init","session_id":"11111111-1111-4111-8111-111111111111","model":"m","tools":[]}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"'"$said with $ANTHROPIC_API_KEY at $ANTHROPIC_BASE_URL"'","session_id":"11111111-1111-4111-8111-111111111111"}'
`
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	w := newWorldOf(t, binary(t, ""), []string{"CLAUDE_CODE_PATH=" + program, "REAL_KEY=" + key})
	w.configure(fmt.Sprintf("[providers.claude]\nkey_outside = true\nenv = { ANTHROPIC_API_KEY = \"$REAL_KEY\", ANTHROPIC_BASE_URL = %q }\npaths = [%q]\n", host.URL, dir))
	w.start()
	if a := w.create(substrat.NewAgent{Name: "a", Provider: "claude"}); a.Network != substrat.NetworkDoor {
		t.Errorf("its network is %s", a.Network)
	}
	r := w.wait(w.send("a", "hello"))
	if r.Turn.Outcome != substrat.Completed || !strings.HasPrefix(r.Turn.Text, "ok with ") || !strings.HasSuffix(r.Turn.Text, "at http://127.0.0.1:3129") {
		t.Errorf("%s: %s %s", r.Turn.Outcome, r.Turn.Text, r.Turn.Detail)
	}
	if got.Load() != key {
		t.Errorf("the provider's host got the key %q", got.Load())
	}
	err := filepath.WalkDir(w.home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), key) {
			t.Errorf("the key is in %s", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBounds: a fork bomb, a memory hog and a disk filler end their own turns, with the class that says so, and touch nothing
// else: another agent's turn goes on beside them.
func TestBounds(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.configure("[resources]\nmemory = \"300MB\"\nprocesses = 120\nworkspace = \"40MB\"\nhome = \"40MB\"\n[limits]\nattempts = 1\n")
	w.start()
	w.create(substrat.NewAgent{Name: "calm"})
	calm := w.send("calm", script(step{"sleep_ms": 3000}, step{"text": "calm"}))
	for name, command := range map[string]string{
		"processes": "for i in $(seq 400); do sleep 20 & done; wait",
		"memory":    "python3 -c 'x = bytearray(900 * 1000 * 1000); import time; time.sleep(20)'; sleep 20",
		"workspace": "dd if=/dev/zero of=big bs=1M count=300 2>/dev/null; sleep 20",
		"home":      "dd if=/dev/zero of=$HOME/big bs=1M count=300 2>/dev/null; sleep 20",
	} {
		w.create(substrat.NewAgent{Name: name})
		r := w.wait(w.send(name, script(step{"shell": command}, step{"text": "unharmed"})))
		if r.Turn.Outcome != substrat.FailedTurn || r.Turn.Class != substrat.ClassResources || !strings.Contains(r.Turn.Detail, name) {
			t.Errorf("%s: %s %s %q", name, r.Turn.Outcome, r.Turn.Class, r.Turn.Detail)
		}
	}
	if r := w.wait(calm); r.Turn.Text != "calm" || r.Message.Attempts != 1 {
		t.Errorf("the calm agent's turn is %+v", r.Turn)
	}
}
