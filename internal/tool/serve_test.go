package tool

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"substrat.dev/substrat/internal/relay"
	"substrat.dev/substrat/internal/sock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an agent's client, its relay, and the socket that the daemon opens: everything but the processes.
type rig struct {
	t        *testing.T
	host     *memory
	dir      string
	listener *Listener
	session  *mcp.ClientSession
}

var lead = Caller{Team: "lead", Agent: "lead", Turn: "t1", Token: "secret", Name: "lead"}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, host: newMemory(), dir: t.TempDir()}
	r.listen()
	in, toRelay := io.Pipe()
	fromRelay, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- relay.Run(ctx, relay.Options{
			Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
				return sock.Dial(ctx, filepath.Join(r.dir, "agent.sock"))
			},
			Token: "secret", Stdin: in, Stdout: out,
		})
		_ = out.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromRelay, Writer: toRelay}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.session = session
	t.Cleanup(func() {
		_ = session.Close()
		_ = toRelay.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		cancel()
		_ = r.listener.Close()
	})
	return r
}

// listen opens the socket, as a daemon does and, after it died, the next one.
func (r *rig) listen() {
	r.t.Helper()
	l, err := Listen(r.dir, lead, r.host, slog.New(slog.DiscardHandler))
	if err != nil {
		r.t.Fatal(err)
	}
	r.listener = l
}

// call calls a tool and gives its answer as JSON.
func (r *rig) call(name, args string) (string, bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	res, err := r.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		r.t.Fatalf("%s %s: %v", name, args, err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	structured, err := json.Marshal(res.StructuredContent)
	if err != nil {
		r.t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal([]byte(text), &a) != nil || json.Unmarshal(structured, &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
		r.t.Errorf("text %s and structured content %s differ", text, structured)
	}
	return text, res.IsError
}

// TestTools calls every tool through relay, socket and SDK, with its refusals.
func TestTools(t *testing.T) {
	r := newRig(t)
	cases := []struct {
		tool, args string
		refused    bool
		want       string
	}{
		{"list_children", `{}`, false, `"name":"coder"`},
		{"send_message", `{"recipient":"coder","text":"hi"}`, false, `"waiting_for_reply":true`},
		{"send_message", `{"recipient":"coder","text":"hi","sync":false}`, false, `"waiting_for_reply":false`},
		{"send_message", `{"recipient":"user","text":"report"}`, false, `"waiting_for_reply":false`},
		{"send_message", `{"recipient":"nobody","text":"hi"}`, true, `you can reach: USER, coder`},
		{"send_message", `{"recipient":"coder"}`, true, `text`},
		{"send_message", `{"recipient":"coder","text":"hi","agent_id":"coder"}`, true, `agent_id`},
		{"send_message", `{"recipient":7,"text":"hi"}`, true, `"code":"invalid"`},
		{"send_message", `{"recipient":"coder","text":"hi","reply_to":"nonsense"}`, true, `"code":"conflict"`},
		{"broadcast", `{"text":"all","to":"children"}`, false, `"recipient_count":1`},
		{"broadcast", `{"text":"all"}`, false, `"recipient_count":0`},
		{"broadcast", `{"text":"all","to":"everyone"}`, true, `siblings`},
		{"check_inbox", `{}`, false, `{"messages":[]}`},
		{"check_inbox", `{"limit":"many"}`, true, `limit`},
		{"message_status", `{"message_id":"go"}`, false, `"state":"injected"`},
		{"message_status", `{"message_id":"nonsense"}`, true, `that you sent or received`},
		{"spawn_agent", `{"name":"critic","instructions":"judge","role":"reviewer"}`, false, `"status":"created"`},
		{"spawn_agent", `{"name":"critic","instructions":"judge"}`, true, `"code":"name_taken"`},
		{"spawn_agent", `{"name":"x","instructions":"","role":"king"}`, true, `worker reviewer manager`},
		{"spawn_agent", `{"name":"x","instructions":"","provider":"nonsense"}`, true, `not known`},
		{"spawn_agent", `{"name":"x","instructions":"","workspace_subdir":"../.."}`, true, `not below the workspace`},
		{"inspect_agent", `{"name":"coder"}`, false, `"recent_messages"`},
		{"inspect_agent", `{"name":"nobody"}`, true, `"code":"not_found"`},
		{"complete", `{"result":"done"}`, true, `you are the root`},
		{"set_agent_metadata", `{"name":"coder","key":"job","value":"tests"}`, false, `"status":"noted"`},
		{"set_agent_metadata", `{"name":"coder","key":"job","value":null}`, false, `"status":"noted"`},
		{"set_agent_metadata", `{"name":"nobody","key":"job","value":"x"}`, true, `no child of yours`},
		{"gate", `{"name":"coder"}`, false, `"status":"gated"`},
		{"gate", `{"name":"lead"}`, true, `no child of yours`},
		{"permit_turn", `{"name":"coder"}`, false, `"status":"permitted"`},
		{"ungate", `{"name":"coder"}`, false, `"status":"ungated"`},
		{"permit_turn", `{"name":"coder"}`, true, `it is not gated`},
		{"poke", `{"name":"coder"}`, false, `"status":"nothing to retry"`},
		{"poke", `{"name":"nobody"}`, true, `"code":"not_found"`},
		{"subscribe", `{"name":"coder","transition":"busy->idle"}`, false, `"subscription_id"`},
		{"subscribe", `{"name":"coder","transition":"busy->dancing"}`, true, `"code":"invalid"`},
		{"subscribe", `{"name":"nobody","transition":"*->*"}`, true, `"code":"unreachable"`},
		{"unsubscribe", `{"subscription_id":"nonsense"}`, true, `no subscription`},
		{"remind_me", `{"reason":"look again","after_s":60}`, false, `"reminder_id"`},
		{"remind_me", `{"reason":"look again","after_s":0}`, true, `after_s`},
		{"remind_me", `{"reason":"look again","after_s":60,"every_s":1}`, true, `cannot repeat`},
		{"cancel_reminder", `{"reminder_id":"nonsense"}`, true, `no reminder`},
		{"ask_user", `{"question":"red or blue?","options":["red","blue"]}`, false, `"status":"asked"`},
		{"ask_user", `{"question":"red or blue?","options":["red","red"]}`, true, `there twice`},
		{"ask_user", `{"question":""}`, true, `empty`},
		{"create_workspace", `{"name":"lab"}`, false, `"status":"created"`},
		{"create_workspace", `{"name":"lab"}`, true, `"code":"name_taken"`},
		{"create_workspace", `{"name":"net","network":true}`, true, `you do not have it`},
		{"create_workspace", `{"name":"window","view_of":"lab","subdir":"src","mode":"ro"}`, false, `"status":"created"`},
		{"create_workspace", `{"name":"w2","view_of":"lab","subdir":"../.."}`, true, `not below the workspace`},
		{"create_workspace", `{"name":"tree","worktree":true}`, false, `"branch":"substrat/tree"`},
		{"list_workspaces", `{}`, false, `"ref":"window","mode":"ro"`},
		{"link_dir", `{"workspace":"lab","source_dir":"out","target_dir":"in"}`, false, `"status":"linked"`},
		{"link_dir", `{"workspace":"lab","source_dir":"../etc","target_dir":"in"}`, true, `not below the workspace`},
		{"link_dir", `{"workspace":"../lab","source_dir":"out","target_dir":"in"}`, true, `that you can see`},
		{"link_from", `{"source":"tree","target_dir":"tree","workspace":"lab"}`, false, `"status":"linked"`},
		{"link_from", `{"source":"lab","target_dir":"all","workspace":"lab"}`, true, `into itself`},
		{"unlink_dir", `{"workspace":"lab","target_dir":"in"}`, false, `"status":"unlinked"`},
		{"unlink_dir", `{"workspace":"lab","target_dir":"in"}`, true, `there is no link`},
		{"spawn_agent", `{"name":"tenant","instructions":"live","workspace":"window"}`, false, `"status":"created"`},
		{"spawn_agent", `{"name":"x","instructions":"live","workspace":"palace"}`, true, `that you can see`},
		{"delete_workspace", `{"name":"lab"}`, true, `lead/tenant lives in it`},
		{"delete_workspace", `{"name":"tree"}`, false, `"status":"deleted"`},
		{"terminate_agent", `{"name":"tenant","reason":"done"}`, false, `"status":"terminated"`},
		{"terminate_agent", `{"name":"tenant","reason":"done"}`, true, `no child of yours`},
		{"delete_workspace", `{"name":"lab"}`, false, `"status":"deleted"`},
	}
	for _, c := range cases {
		got, refused := r.call(c.tool, c.args)
		if refused != c.refused || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s (refused %v), want %s (refused %v)", c.tool, c.args, got, refused, c.want, c.refused)
		}
		if c.refused && !strings.Contains(got, `{"error":{"code":`) {
			t.Errorf("%s %s: a refusal without a code: %s", c.tool, c.args, got)
		}
	}
	listed, err := r.session.ListTools(context.Background(), nil)
	if err != nil || len(listed.Tools) != len(All) {
		t.Fatalf("%d tools are listed, %v", len(listed.Tools), err)
	}
	for _, tool := range listed.Tools {
		if len(tool.Description) < 80 || tool.InputSchema == nil {
			t.Errorf("%s has no prose or no schema", tool.Name)
		}
	}
}

// TestDaemonDies: F31. The daemon dies after a call was made durable and before it was answered, again and again. Every
// call is answered once, and done once.
func TestDaemonDies(t *testing.T) {
	r := newRig(t)
	var restarts sync.WaitGroup
	died := 0
	r.host.done = func(ctx context.Context) {
		if died++; died%2 == 0 {
			return
		}
		restarts.Go(func() { _ = r.listener.Close(); r.listen() })
		<-ctx.Done()
	}
	for i := range 40 {
		text := fmt.Sprintf("call %d", i)
		if got, refused := r.call("send_message", fmt.Sprintf(`{"recipient":"coder","text":%q,"sync":false}`, text)); refused {
			t.Errorf("%s: %s", text, got)
		}
		restarts.Wait()
		if n := r.host.times(text); n != 1 {
			t.Errorf("%s was done %d times", text, n)
		}
	}
	if died < 60 {
		t.Errorf("the daemon saw %d calls: nothing was repeated", died)
	}
}

// speak opens a raw connection to the agent's socket.
func (r *rig) speak(lines ...string) []string {
	r.t.Helper()
	conn, err := net.Dial("unix", filepath.Join(r.dir, "agent.sock"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, strings.Join(lines, "\n")+"\n"); err != nil {
		r.t.Fatal(err)
	}
	var out []string
	in := bufio.NewScanner(conn)
	in.Buffer(nil, 8<<20)
	for len(out) < len(lines)-1 && in.Scan() {
		out = append(out, in.Text())
	}
	return out
}

// TestIdentity: T1. Nobody speaks without the turn's token, and an id in arguments or preamble makes nobody another.
func TestIdentity(t *testing.T) {
	r := newRig(t)
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for name, first := range map[string]string{
		"no preamble": hello,
		"wrong token": `{"substrat":{"v":1,"relay":"r","token":"guess"}}`,
		"no token":    `{"substrat":{"v":1,"relay":"r"}}`,
		"not JSON":    `hello`,
	} {
		out := r.speak(first, hello)
		if len(out) != 1 || !strings.Contains(out[0], `"error"`) {
			t.Errorf("%s: %q", name, out)
		}
	}
	for range 3 {
		if why := <-r.host.refused; !strings.Contains(why, "not the token") && !strings.Contains(why, "takes a relay only") {
			t.Errorf("on record: %s", why)
		}
	}
	<-r.host.refused
	if out := r.speak(`{"substrat":{"v":1,"relay":"r","token":"secret","agent":"coder"}}`, hello); len(out) != 1 || !strings.Contains(out[0], `"error"`) {
		t.Errorf("another agent's id: %q", out)
	}
	if why := <-r.host.refused; !strings.Contains(why, `names "coder"`) {
		t.Errorf("on record: %s", why)
	}
	out := r.speak(`{"substrat":{"v":1,"relay":"r","token":"secret","agent":"lead"}}`, hello)
	if len(out) != 1 || !strings.Contains(out[0], `"protocolVersion":"2025-06-18"`) {
		t.Errorf("the right token: %q", out)
	}
}

// TestForeignLines: what is not JSON-RPC gets an error at once, and the connection goes on.
func TestForeignLines(t *testing.T) {
	r := newRig(t)
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	out := r.speak(`{"substrat":{"v":1,"relay":"r","token":"secret"}}`, hello, `not json`, `{"jsonrpc":"2.0","id":"a","method":"no/such"}`)
	all := strings.Join(out, "\n")
	for _, want := range []string{`"code":-32700`, `"protocolVersion":"2025-06-18"`, `"id":"a","error"`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
}
