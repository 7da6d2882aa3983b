package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// The canaries: a secret of the daemon's own, keys of the agents' from its environment and from a file, one of an MCP server,
// and one that nobody knows and that only looks like a secret.
var canaries = map[string]string{
	"daemon": "cnry-daemon-51c0ffee77aa", "env": "cnry-env-9d8e7f6a5b4c3d", "file": "cnry-file-0a1b2c3d4e5f60", "mcp": "cnry-mcp-77e6d5c4b3a291",
	"alike": "ghp_c4naryC4naryC4naryC4naryC4nary12",
}

// promptCanary is in a prompt, which is nobody's business on the machine.
const promptCanary = "cnry-prompt-3c2d1e0f"

// cage looks for canaries in whatever it is shown.
type cage struct {
	t     *testing.T
	forms map[string][]string
	seen  int
}

func newCage(t *testing.T) *cage {
	c := &cage{t: t, forms: map[string][]string{}}
	for name, v := range canaries {
		c.forms[name] = []string{v, hex.EncodeToString([]byte(v))}
		for n := range 3 {
			b := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", n) + v))
			c.forms[name] = append(c.forms[name], b[4:len(b)-4])
		}
	}
	return c
}

// look reports the canaries in data, but for those that may be there.
func (c *cage) look(where string, data []byte, but ...string) {
	c.t.Helper()
	c.seen++
	for name, forms := range c.forms {
		if slices.Contains(but, name) {
			continue
		}
		for _, f := range forms {
			if i := bytes.Index(data, []byte(f)); i >= 0 {
				c.t.Errorf("the canary %q is in %s: …%q…", name, where, data[max(0, i-120):min(len(data), i+len(f)+40)])
				break
			}
		}
	}
}

// lookBelow reads every file of a home, but for the private homes of agents, which are their CLIs' own.
func (c *cage) lookBelow(home string) {
	c.t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "home" && filepath.Base(filepath.Dir(filepath.Dir(path))) == "agents" {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || filepath.Base(filepath.Dir(path)) == "bin" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// What is spooled is what the agent printed without what is known: the daemon knows nothing of the other.
		var but []string
		if name := filepath.Base(path); name == "stdout" || name == "stderr" {
			but = append(but, "alike")
		}
		c.look(path, data, but...)
		if st, err := d.Info(); err == nil && len(but) > 0 && strings.HasPrefix(filepath.Base(path), "std") && st.Mode().Perm() != 0o600 {
			c.t.Errorf("%s is %v", path, st.Mode())
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// lookAtProcesses reads the command lines of all processes of the machine.
func (c *cage) lookAtProcesses() {
	c.t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		data, _ := os.ReadFile(f)
		c.look(f, data)
		if bytes.Contains(data, []byte(promptCanary)) {
			c.t.Errorf("the prompt is in %s: %q", f, data)
		}
	}
}

// canaryWorld is a daemon that has all canaries, with a manager and a worker.
func canaryWorld(t *testing.T) (*world, *cage, string) {
	w := newWorldOf(t, binary(t, ""), []string{"DAEMON_TOKEN=" + canaries["daemon"], "CANARY_KEY=" + canaries["env"]})
	key := func(name string) string {
		path := filepath.Join(w.dir, name)
		if err := os.WriteFile(path, []byte(canaries[name]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	server := filepath.Join(w.dir, "work", "server.sh")
	if err := os.MkdirAll(filepath.Dir(server), 0o755); err != nil {
		t.Fatal(err)
	}
	// It says that it has its key, waits until it was seen, and ends: a server that failed.
	program := "#!/bin/sh\nprintf %s \"$MCP_KEY\" | sha256sum >" + filepath.Dir(server) + "/got\necho \"no server: $MCP_KEY\" >&2\nexit 4\n"
	if err := os.WriteFile(server, []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	file, mcp := key("file"), key("mcp")
	conf := fmt.Sprintf(`[limits]
attempts = 1
[providers.sim]
env = { ENV_KEY = "$CANARY_KEY", FILE_KEY = "file:%[1]s", PLAIN = "as it is" }
[providers.scripted]
env = { ENV_KEY = "$CANARY_KEY", FILE_KEY = "file:%[1]s" }
[mcp.probe]
command = ["%[2]s"]
env = { MCP_KEY = "file:%[3]s" }
roles = ["manager"]
tools = 1
`, file, server, mcp)
	if err := os.WriteFile(filepath.Join(w.home, "substrat.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	return w, newCage(t), filepath.Dir(server)
}

// TestCanaries plants secrets everywhere a daemon has any, lets agents print them in every way, and looks at every output.
func TestCanaries(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w, c, dir := canaryWorld(t)
	w.create(substrat.NewAgent{Name: "boss", Role: "manager", Dir: dir})
	other := filepath.Join(w.dir, "other")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	w.create(substrat.NewAgent{Name: "hand", Parent: "boss", Dir: other})
	w.create(substrat.NewAgent{Name: "fails", Provider: "scripted", Dir: other, Command: []string{"/bin/sh", "-c",
		`echo "{\"type\":\"log\",\"message\":\"$ENV_KEY\"}"; echo "it is $FILE_KEY" >&2; exit 3`}})

	follow, stop := context.WithCancel(context.Background())
	defer stop()
	streams := []<-chan []byte{w.follow(follow, "/v1/agents/boss/stream"), w.follow(follow, "/v1/events?after=0")}

	if err := os.WriteFile(filepath.Join(dir, "alike"), []byte(canaries["alike"]), 0o600); err != nil {
		t.Fatal(err)
	}
	all := `echo "$ENV_KEY $FILE_KEY $(cat alike)"; echo "e $ENV_KEY" >&2; printf 'x%s' "$FILE_KEY" | base64; printf %s "$ENV_KEY" | od -An -tx1 | tr -d ' \n'`
	id := w.send("boss", script(
		step{"shell": all}, step{"text": "it said {{last}} and {{last}}", "chunk_ms": 1}, step{"think": "so {{last}}"},
		step{"mcp": "send_message", "server": "substrat", "args": step{"recipient": "hand", "text": "the key: {{last}}", "sync": false}},
		step{"shell": all}, step{"mcp": "set_agent_metadata", "server": "substrat", "args": step{"name": "hand", "key": "found", "value": "{{last}}"}},
		step{"shell": all}, step{"mcp": "ask_user", "server": "substrat", "args": step{"question": "what of {{last}}?"}}, step{"shell": all},
		step{"todo": []string{"use {{last}}"}},
		step{"shell": "env | sort >seen.env; cat alike >&2; exit 1"}, step{"mcp": "anything", "server": "probe"},
		step{"shell": `until [ -e ` + dir + `/go ]; do sleep 0.05; done`},
		step{"think": promptCanary}, step{"text": " end"},
	))
	w.until("the agent to wait", func() bool { _, err := os.Stat(filepath.Join(dir, "seen.env")); return err == nil })
	c.lookAtProcesses()
	// What another agent's sandbox shows of processes, while this one runs.
	spy := w.send("boss/hand", script(step{"shell": "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline >seen"}, step{"text": "looked"}))
	if r := w.wait(spy); r.Turn == nil || r.Turn.Outcome != substrat.Completed {
		t.Errorf("the spy ended with %+v", r.Turn)
	}
	seen, err := os.ReadFile(filepath.Join(other, "seen"))
	if err != nil || !bytes.Contains(seen, []byte(canaries["env"])) {
		t.Errorf("the agent has not its key: %v", err)
	}
	c.look("what another agent sees", seen, "env", "file")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := w.wait(id)
	if r.Turn == nil || r.Turn.Outcome != substrat.Completed || !strings.Contains(r.Turn.Text, "[redacted]") || !strings.HasSuffix(r.Turn.Text, " end") {
		t.Errorf("the turn ended with %+v", r.Turn)
	}
	env, _ := os.ReadFile(filepath.Join(dir, "seen.env"))
	c.look("the agent's environment", env, "env", "file")
	for _, want := range []string{"ENV_KEY=" + canaries["env"] + "\n", "FILE_KEY=" + canaries["file"] + "\n", "PLAIN=as it is\n"} {
		if !bytes.Contains(env, []byte(want)) {
			t.Errorf("the agent lacks %s", want)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "got")); !strings.HasPrefix(string(got), sum(canaries["mcp"])) {
		t.Errorf("the MCP server had %q", got)
	}
	if hand := w.agent("hand"); !strings.Contains(hand.Metadata["found"], "[redacted]") {
		t.Errorf("what was noted is %q", hand.Metadata)
	}
	failed := w.send("fails", "go on")
	if r := w.wait(failed); r.Turn == nil || r.Turn.Outcome != substrat.FailedTurn {
		t.Errorf("the turn that fails ended with %+v", r.Turn)
	} else {
		t.Logf("it failed with %s: %s", r.Turn.Class, r.Turn.Detail)
	}
	w.lookAtAnswers(c, id)
	w.lookAtCommands(c, id)
	stop()
	for i, s := range streams {
		data := <-s
		if len(data) < 1000 {
			t.Errorf("stream %d is %q", i, data)
		}
		c.look(fmt.Sprintf("stream %d", i), data)
	}
	log, _ := os.ReadFile(w.log.Name())
	c.look("the daemon's log", log)
	c.lookBelow(w.home)
	if c.seen < 100 {
		t.Errorf("only %d outputs were looked at", c.seen)
	}
}

func sum(text string) string {
	out, _ := exec.Command("sh", "-c", "printf %s \"$0\" | sha256sum", text).Output()
	return string(out[:min(len(out), 64)])
}

// follow reads a stream until ctx ends, and then gives all of it.
func (w *world) follow(ctx context.Context, path string) <-chan []byte {
	out := make(chan []byte, 1)
	go func() {
		var all []byte
		defer func() { out <- all }()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://substrat"+path, nil)
		if err != nil {
			return
		}
		res, err := w.http.Do(req)
		if err != nil {
			return
		}
		defer res.Body.Close()
		all, _ = io.ReadAll(res.Body)
	}()
	return out
}

// lookAtAnswers asks every route that only reads.
func (w *world) lookAtAnswers(c *cage, message string) {
	w.t.Helper()
	var api struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := w.get("/v1/openapi.json", &api); err != nil {
		w.t.Fatal(err)
	}
	var turns []substrat.Turn
	var listed struct {
		Turns []substrat.Turn `json:"turns"`
	}
	for _, ref := range []string{"boss", "hand", "fails"} {
		if err := w.get("/v1/agents/"+ref+"/turns", &listed); err != nil {
			w.t.Fatal(err)
		}
		turns = append(turns, listed.Turns...)
	}
	asked := 0
	for path, methods := range api.Paths {
		if _, ok := methods["get"]; !ok || strings.HasSuffix(path, "/mcp") {
			continue
		}
		var paths []string
		switch {
		case strings.Contains(path, "/agents/{ref}"):
			for _, ref := range []string{"boss", "hand", "fails"} {
				paths = append(paths, strings.Replace(path, "{ref}", ref, 1))
			}
		case strings.Contains(path, "/turns/{id}"):
			for _, t := range turns {
				paths = append(paths, strings.Replace(path, "{id}", t.ID, 1))
			}
		case strings.Contains(path, "/messages/{id}"):
			paths = append(paths, strings.Replace(path, "{id}", message, 1))
		case strings.Contains(path, "/search"):
			paths = append(paths, path+"?q=cnry", path+"?q=key", path+"?q=redacted")
		case path == "/v1/events":
			paths = append(paths, path+"?follow=false")
		default:
			paths = append(paths, path)
		}
		for _, p := range paths {
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
			if strings.HasSuffix(p, "/stream") {
				cancel()
				ctx, cancel = context.WithTimeout(context.Background(), 2*time.Second)
			}
			data := <-w.follow(ctx, p)
			cancel()
			c.look("GET "+p, data)
			asked++
		}
	}
	if asked < 30 {
		w.t.Errorf("only %d routes were asked", asked)
	}
}

// lookAtCommands runs the commands that show something.
func (w *world) lookAtCommands(c *cage, message string) {
	w.t.Helper()
	for _, args := range [][]string{
		{"log", "boss"}, {"log", "boss", "--json"}, {"log", "fails"}, {"log", "hand"}, {"events"}, {"events", "--json"}, {"search", "cnry"}, {"search", "redacted"},
		{"search", "key"}, {"agent", "inspect", "boss"}, {"agent", "inspect", "fails", "--json"}, {"why", "boss"}, {"why", "fails"}, {"top", "--once"}, {"queue"}, {"inbox"},
		{"message", "show", message}, {"message", "list"}, {"agent", "list", "--json"}, {"workspace", "list", "--json"}, {"graph"}, {"budget", "show", "boss"},
		{"providers"}, {"doctor"}, {"daemon", "status"}, {"session", "list"},
	} {
		cmd := exec.Command(w.bin, args...)
		cmd.Env = append(os.Environ(), "SUBSTRAT_HOME="+w.home)
		out, _ := cmd.CombinedOutput()
		if len(out) == 0 {
			w.t.Errorf("substrat %s says nothing", strings.Join(args, " "))
		}
		c.look("substrat "+strings.Join(args, " "), out)
	}
}

// TestMissingKey is a key that is not there: the turn fails like one without a login and says what to do, the daemon goes on,
// and once the key is there, the agent runs without a new daemon.
func TestMissingKey(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(w.dir, "key")
	conf := fmt.Sprintf("[providers.sim]\nenv = { KEY = \"file:%s\" }\n", key)
	if err := os.WriteFile(filepath.Join(w.home, "substrat.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	a := w.create(substrat.NewAgent{Name: "a"})
	id := w.send("a", script(step{"shell": "echo ${#KEY}"}, step{"text": "{{last}}"}))
	var listed struct {
		Turns []substrat.Turn `json:"turns"`
	}
	w.until("a turn to fail", func() bool {
		return w.get("/v1/agents/a/turns", &listed) == nil && len(listed.Turns) > 0 && listed.Turns[0].Outcome != ""
	})
	if got := listed.Turns[0]; got.Class != substrat.ClassAuth || !strings.Contains(got.Detail, key) {
		t.Errorf("it failed with %s: %s", got.Class, got.Detail)
	}
	if err := os.WriteFile(key, []byte(canaries["file"]), 0o600); err != nil {
		t.Fatal(err)
	}
	resume := exec.Command(w.bin, "resume", "sim")
	resume.Env = append(os.Environ(), "SUBSTRAT_HOME="+w.home)
	if out, err := resume.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if r := w.wait(id); r.Turn == nil || strings.TrimSpace(r.Turn.Text) != fmt.Sprint(len(canaries["file"])) {
		t.Errorf("%s said %+v", a.Path, r.Turn)
	}
}
