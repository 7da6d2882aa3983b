//go:build peers

package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/model"
)

// team is a daemon of its own with the programs in reach.
type team struct {
	t    *testing.T
	bin  string
	env  []string
	work string
}

func newTeam(t *testing.T, config ...string) *team {
	t.Helper()
	dir := scratch(t)
	x := &team{t: t, bin: filepath.Join(dir, "substrat"), work: filepath.Join(dir, "work")}
	if out, err := exec.Command("go", "build", "-o", dir+"/", "substrat.dev/substrat/cmd/substrat", "substrat.dev/substrat/cmd/substrat-shim").CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v\n%s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(x.work, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "sub-peers-") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "substrat.toml"), []byte(strings.Join(config, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(model.Handler(func(api, what string) { t.Logf("model: %s: %.200s", api, what) }))
	x.env = append(os.Environ(), "SUBSTRAT_HOME="+home)
	for k, v := range surroundings(s.URL) {
		x.env = append(x.env, k+"="+v)
	}
	x.run("daemon", "start")
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(home, "daemon.log"))
			t.Logf("%s", log)
		}
		x.run("daemon", "stop", "--cancel")
		s.Close()
		_ = os.RemoveAll(home)
	})
	return x
}

// run runs a command of substrat's and gives what it printed.
func (x *team) run(args ...string) string {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), x.bin, args...)
	if x.t.Context().Err() != nil { // while cleaning up
		cmd = exec.Command(x.bin, args...)
	}
	cmd.Env = x.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Errorf("substrat %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// member makes an agent of a program.
func (x *team) member(p peer, more ...string) string {
	x.t.Helper()
	args := append([]string{"agent", "create", p.name, "--provider", p.name, "--dir", x.work}, more...)
	if p.model != "" && !p.acp {
		args = append(args, "--model", p.model)
	}
	return x.run(args...)
}

// answered reports whether an agent was told, in a turn of its own that is done, what its child said. The task that the child was
// given has the same words, so only a reply counts.
func (x *team) answered(parent, child string) bool {
	x.t.Helper()
	var list []substrat.Message
	if err := json.Unmarshal([]byte(x.run("message", "ls", "--agent", parent, "--json")), &list); err != nil {
		x.t.Fatal(err)
	}
	return slices.ContainsFunc(list, func(m substrat.Message) bool {
		return m.Kind == substrat.KindReply && m.State == substrat.Handled && m.From == parent+"/"+child && strings.Contains(m.Text, "I am "+child+".")
	})
}

// TestMember: each program is an agent of its own, in the sandbox, with Substrat's tools and a shell.
func TestMember(t *testing.T) {
	x := newTeam(t)
	each(t, nil, func(t *testing.T, p peer) {
		x := &team{t: t, bin: x.bin, env: x.env, work: x.work}
		x.member(p)
		began := time.Now()
		x.run("send", p.name, `<<SCRIPT [{"mcp":"list_children"},{"shell":"echo from `+p.name+` > `+p.name+`.txt"},{"text":"Done by `+p.name+`."}] SCRIPT>>`, "--wait")
		log := x.run("log", p.name)
		for _, want := range []string{"list_children", "Done by " + p.name, "completed"} {
			if !strings.Contains(log, want) {
				t.Errorf("%q is missing:\n%s", want, log)
			}
		}
		if data, err := os.ReadFile(filepath.Join(x.work, p.name+".txt")); err != nil || strings.TrimSpace(string(data)) != "from "+p.name {
			t.Errorf("the command left %q, %v\n%s", data, err, log)
		}
		t.Logf("%s: %v", p.name, time.Since(began).Round(10*time.Millisecond))
	})
}

// TestStop: whoever waits for a turn that is stopped learns so, and it is not tried again.
func TestStop(t *testing.T) {
	x := newTeam(t)
	each(t, nil, func(t *testing.T, p peer) {
		x := &team{t: t, bin: x.bin, env: x.env, work: x.work}
		x.member(p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		mark := fmt.Sprintf("97%d", time.Now().UnixNano()%1_000_000)
		waiter := exec.CommandContext(ctx, x.bin, "send", p.name, `<<SCRIPT [{"shell":"tail -n `+mark+` -f /dev/null"},{"text":"never"}] SCRIPT>>`, "--wait", "--json")
		waiter.Env = x.env
		var out bytes.Buffer
		waiter.Stdout = &out
		if err := waiter.Start(); err != nil {
			t.Fatal(err)
		}
		for !lives(mark) && ctx.Err() == nil {
			time.Sleep(50 * time.Millisecond)
		}
		x.run("agent", "stop", p.name)
		stopped := time.Now()
		_ = waiter.Wait()
		var sent struct {
			State   substrat.MessageState
			Outcome substrat.Outcome
		}
		if err := json.Unmarshal(out.Bytes(), &sent); err != nil || sent.Outcome != substrat.Cancelled || sent.State != substrat.Dead {
			t.Errorf("the waiter was told %s, %v\n%s", out.Bytes(), err, x.run("log", p.name))
		}
		t.Logf("%s: %v", p.name, time.Since(stopped).Round(10*time.Millisecond))
	})
}

// TestPolicy: what a policy denies is not done in the sandbox either, and what none speaks of is, without a person.
func TestPolicy(t *testing.T) {
	x := newTeam(t, "[[policy]]", `effect = "deny"`, `command = "mkdir *"`)
	each(t, nil, func(t *testing.T, p peer) {
		x := &team{t: t, bin: x.bin, env: x.env, work: x.work}
		x.member(p)
		forbidden, fine := "forbidden-"+p.name, "fine-"+p.name
		x.run("send", p.name, `<<SCRIPT [{"mcp":"list_children"},{"shell":"touch `+fine+`"},{"shell":"mkdir `+forbidden+`"},{"text":"Done."}] SCRIPT>>`, "--wait", "--timeout", "1m")
		if log := x.run("log", p.name); !strings.Contains(log, "list_children") || strings.Contains(log, "list_children [") {
			t.Errorf("it cannot use the team's tools:\n%s", log)
		}
		for name, want := range map[string]bool{forbidden: false, fine: true} {
			if _, err := os.Stat(filepath.Join(x.work, name)); (err == nil) != want {
				t.Errorf("%s: %v\n%s", name, err, x.run("log", p.name))
			}
		}
	})
}

// TestHTTPServer: a server of substrat.toml that is an address is called with its headers, by each program, whose command line does
// not show them.
func TestHTTPServer(t *testing.T) {
	secret := fmt.Sprintf("token-%d", time.Now().UnixNano()) // nobody else on the machine has it in argv
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "newest_ticket", Description: "Gives the newest ticket"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		shown := ""
		paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range paths {
			if data, _ := os.ReadFile(path); bytes.Contains(data, []byte(secret)) {
				shown = " shown in " + path
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ticket 4711" + shown}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, q)
	}))
	defer func() { s.CloseClientConnections(); s.Close() }()
	t.Setenv("TRACKER_TOKEN", secret)
	x := newTeam(t, "[mcp.tracker]", fmt.Sprintf("url = %q", s.URL), `headers = { Authorization = "Bearer $TRACKER_TOKEN" }`)
	each(t, nil, func(t *testing.T, p peer) {
		x := &team{t: t, bin: x.bin, env: x.env, work: x.work}
		x.member(p)
		x.run("send", p.name, `<<SCRIPT [{"mcp":"newest_ticket","server":"tracker"},{"text":"Done."}] SCRIPT>>`, "--wait", "--timeout", "1m")
		log := x.run("log", p.name, "--full")
		x.run("agent", "rm", p.name)
		// What is between claude-agent-acp and Claude Code is theirs: it hands its servers on in argv.
		if !strings.Contains(log, "ticket 4711") || strings.Contains(log, "shown in") && p.name != "claude-acp" {
			t.Errorf("it did not call the server, or shows its secret:\n%s", log)
		}
	})
}

// TestMixedTeam: a root asks a member of each kind, and gets every answer.
func TestMixedTeam(t *testing.T) {
	x := newTeam(t)
	x.run("agent", "create", "lead", "--provider", "sim", "--dir", x.work)
	var script bytes.Buffer
	for _, p := range peers {
		x.member(p, "--parent", "lead")
		task := fmt.Sprintf(`say it <<SCRIPT [{\"shell\":\"echo %s\"},{\"text\":\"I am %s.\"}] SCRIPT>>`, p.name, p.name)
		fmt.Fprintf(&script, `{"mcp":"send_message","args":{"recipient":%q,"text":"%s"}},`, p.name, task)
	}
	x.run("send", "lead", `ask them <<SCRIPT [`+script.String()+`{"text":"asked"}] SCRIPT>>`, "--wait")
	missing := func() (out []string) {
		for _, p := range peers {
			if !x.answered("lead", p.name) {
				out = append(out, p.name)
			}
		}
		return out
	}
	for deadline := time.Now().Add(2 * time.Minute); len(missing()) > 0; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no answer from %v\n%s\n%s", missing(), x.run("agent", "tree"), x.run("log", "lead"))
		}
	}
}
