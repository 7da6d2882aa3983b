package acp_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/acp"
)

// TestExampleAgent does a whole turn with the example agent of another implementation of the protocol.
func TestExampleAgent(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command("go", "build", "-o", bin, "github.com/coder/acp-go-sdk/example/agent").CombinedOutput(); err != nil {
		t.Fatalf("cannot build the example agent: %v\n%s", err, out)
	}
	for name, c := range map[string]struct {
		kind agentcli.OptionKind
		want string
	}{"allowed": {agentcli.AllowOnce, "Perfect! I've successfully updated"}, "refused": {agentcli.RejectOnce, "I'll skip"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			o := agentcli.Options{Dir: t.TempDir(), Home: t.TempDir(), Prompt: "go", Ask: func(_ context.Context, q agentcli.Question) (agentcli.Answer, error) {
				asked++
				a, _ := q.Choose(c.kind)
				return a, nil
			}}
			tools := 0
			r, err := agentcli.Do(t.Context(), acp.New(acp.Options{Command: []string{bin}}), o, func(e agentcli.Event) error {
				if e.Type == agentcli.EventToolEnd {
					tools++
				}
				return nil
			})
			if err != nil || r.Outcome != substrat.Completed || asked != 1 || tools == 0 || r.Session == "" || !strings.Contains(r.Text, c.want) {
				t.Errorf("%+v %v, asked %d times, %d tools", r, err, asked, tools)
			}
		})
	}
}

// recorder is an agent's side that keeps what it is sent.
type recorder struct{ lines []string }

func (r *recorder) ReadFrame(context.Context) (agentcli.Frame, error) {
	var last struct{ ID, Method string }
	for _, l := range r.lines[len(r.lines)-1:] {
		_ = json.Unmarshal([]byte(l), &last)
	}
	result := map[string]string{
		"initialize":  `{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`,
		"session/new": `{"sessionId":"s","modes":{"currentModeId":"x","availableModes":[{"id":"plan","name":"Plan"}]},"models":{"currentModelId":"a","availableModels":[{"modelId":"b","name":"B"}]}}`,
	}[last.Method]
	if result == "" {
		result = `{}`
	}
	data, _ := json.Marshal(last.ID)
	return agentcli.Frame{Data: []byte(`{"jsonrpc":"2.0","id":` + string(data) + `,"result":` + result + `}`)}, nil
}

func (r *recorder) WriteFrame(_ context.Context, line []byte) error {
	r.lines = append(r.lines, string(line))
	return nil
}

// TestWire: what we send is what another implementation of the protocol reads.
func TestWire(t *testing.T) {
	r := &recorder{}
	req := agentcli.Request{Dir: "/w", Model: "b", Mode: agentcli.ModePlan, Live: &agentcli.LiveTurn{ID: "t"}, MCP: []agentcli.MCPServer{
		{Name: "one", Command: "/bin/one", Env: map[string]string{"A": "b"}}, {Name: "two", URL: "http://127.0.0.1:1/mcp", Headers: map[string]string{"H": "v"}},
	}}
	if _, err := acp.New(acp.Options{}).Greet(t.Context(), r, req); err != nil {
		t.Fatal(err)
	}
	for _, line := range r.lines {
		var m struct {
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		var err error
		switch m.Method {
		case "initialize":
			err = json.Unmarshal(m.Params, &sdk.InitializeRequest{})
		case "session/new":
			var p sdk.NewSessionRequest
			err = json.Unmarshal(m.Params, &p)
			if len(p.McpServers) != 2 || p.McpServers[0].Stdio == nil || p.McpServers[0].Stdio.Command != "/bin/one" || p.McpServers[1].Http == nil {
				t.Errorf("servers: %s", m.Params)
			}
		case "session/set_mode":
			err = json.Unmarshal(m.Params, &sdk.SetSessionModeRequest{})
		case "session/set_model", "substrat/barrier":
		default:
			t.Errorf("unexpected: %s", line)
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
