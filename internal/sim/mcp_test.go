package sim

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoArgs struct {
	Text string `json:"text"`
}

// serveMCP is a small MCP server on stdio.
func serveMCP() {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Say it again"},
		func(_ context.Context, _ *mcp.CallToolRequest, args echoArgs) (*mcp.CallToolResult, any, error) {
			text := fmt.Sprintf(`{"message_id":"m-%s","env":%q,"leak":%q}`, args.Text, os.Getenv("GIVEN"), os.Getenv("SECRET"))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "fail"},
		func(context.Context, *mcp.CallToolRequest, echoArgs) (*mcp.CallToolResult, any, error) {
			return nil, nil, fmt.Errorf("it went wrong")
		})
	mcp.AddTool(server, &mcp.Tool{Name: "hang"},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ echoArgs) (*mcp.CallToolResult, any, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}

// serveMCP configures the test binary as an MCP server, in a file of the workspace or one given by absolute path.
func (b *box) serveMCP(name, file string) {
	b.t.Helper()
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.space, file)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	text := fmt.Sprintf(`{"mcpServers":{%q:{"args":[],"command":%q,"env":{%q:"mcp","GIVEN":"${env:TOKEN}!"},"note":1}}}`,
		name, os.Args[0], roleVar)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.env = append(b.env, "TOKEN=t&<k>", "SECRET=not for servers")
}

func TestMCP(t *testing.T) {
	b := newBox(t)
	b.serveMCP("echo", ".cursor/mcp.json")
	events := b.stream(`<<SCRIPT [{"mcp":"echo","args":{"text":"one"}},{"mcp":"echo","args":{"text":"{{last.message_id}}"}},
		{"mcp":"fail","server":"echo","args":{"text":""}},{"mcp":"none"},{"mcp":"echo","server":"nowhere"}] SCRIPT>>`, "--approve-mcps")
	got, bodies := results(t, events)
	want := []string{"getMcpTools success", "mcp success", "mcp success", "mcp success", "mcp error", "mcp error"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	text := func(i int) (string, bool) {
		var success struct {
			Content []struct{ Text struct{ Text string } }
			IsError bool
		}
		raw, _ := json.Marshal(bodies[i].Result["success"])
		if err := json.Unmarshal(raw, &success); err != nil || len(success.Content) != 1 {
			t.Fatalf("%s: %v", raw, err)
		}
		return success.Content[0].Text.Text, success.IsError
	}
	if got, _ := text(2); got != `{"message_id":"m-m-one","env":"t&<k>!","leak":""}` {
		t.Errorf("second call: %s", got)
	}
	if got, isError := text(3); !isError || got != "it went wrong" {
		t.Errorf("failing call: %t %q", isError, got)
	}
	if got := bodies[1].Args["name"]; got != "echo-echo" {
		t.Errorf("name %v", got)
	}
	if got := finalText(t, events); got != "Done: 5 steps, 3 failed." {
		t.Errorf("summary %q", got)
	}
}

func TestMCPGates(t *testing.T) {
	script := `<<SCRIPT [{"mcp":"echo","args":{"text":"x"}}] SCRIPT>>`
	for _, c := range []struct {
		name  string
		setUp func(b *box)
		flags []string
		want  []string
	}{
		{"unapproved", func(*box) {}, []string{"--force"}, []string{"mcp rejected"}},
		{"not forced", func(*box) {}, []string{"--approve-mcps"}, []string{"mcp rejected"}},
		{"plan mode", func(*box) {}, []string{"--approve-mcps", "--force", "--plan"}, []string{"mcp rejected"}},
		{"flag", func(*box) {}, []string{"--approve-mcps", "--force"}, []string{"getMcpTools success", "mcp success"}},
		{"allow rule", func(b *box) {
			b.write(".cursor/cli.json", `{"permissions":{"allow":["Mcp(echo:*)"]}}`)
		}, []string{"--approve-mcps"}, []string{"getMcpTools success", "mcp success"}},
		{"enabled", func(b *box) { b.run("mcp", "enable", "echo") }, []string{"--force"}, []string{"getMcpTools success", "mcp success"}},
		{"disabled again", func(b *box) {
			b.run("mcp", "enable", "echo")
			b.run("mcp", "disable", "echo")
		}, []string{"--force"}, []string{"mcp rejected"}},
		{"changed since", func(b *box) {
			b.run("mcp", "enable", "echo")
			b.write(".cursor/mcp.json", strings.Replace(b.read(".cursor/mcp.json"), "TOKEN", "TOKEN2", 1))
		}, []string{"--force"}, []string{"mcp rejected"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(t)
			b.serveMCP("echo", ".cursor/mcp.json")
			c.setUp(b)
			out := b.run(append([]string{"-p", "--trust", "--output-format", "stream-json", script}, c.flags...)...)
			if out.code != 0 {
				t.Fatalf("exit %d: %s", out.code, out.stderr)
			}
			got, bodies := results(t, parseEvents(t, out.stdout))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatal(diff)
			}
			if got[0] == "mcp rejected" {
				reason := map[string]any{"reason": "User rejected MCP: echo-echo"}
				if diff := cmp.Diff(any(reason), bodies[0].Result["rejected"]); diff != "" || bodies[0].Args != nil {
					t.Errorf("args %v, %s", bodies[0].Args, diff)
				}
			}
		})
	}
}

func TestMCPOfTheUserNeedsNoApproval(t *testing.T) {
	b := newBox(t)
	b.serveMCP("echo", b.conf("mcp.json"))
	got, _ := results(t, b.stream(`<<SCRIPT [{"mcp":"echo","args":{"text":"x"}}] SCRIPT>>`))
	if diff := cmp.Diff([]string{"getMcpTools success", "mcp success"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestApprovalID(t *testing.T) {
	// sha256 of {"path":"/home/u/p<&>","server":{"type":"stdio","command":"é","args":["A","\n\u0001"],"env":{"z":"1","a":"${env:X}"}}}
	raw := `{"unknown":true,"env":{"z":"1", "a":"${env:X}"},"args":["\u0041","\u000a\u0001"],"command":"\u00e9","type":"stdio"}`
	fields, ok := members(jsontext.Value(raw))
	if !ok {
		t.Fatal("no object")
	}
	text := `{"path":"/home/u/p<&>","server":{"type":"stdio","command":"é","args":["A","\n\u0001"],"env":{"z":"1","a":"${env:X}"}}}`
	want := fmt.Sprintf("s-%x", sha256.Sum256([]byte(text)))[:18]
	got, err := mcpServer{name: "s", fields: fields}.approvalID("/home/u/p<&>")
	if err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestApprovalIsForTheGitRoot(t *testing.T) {
	b := newBox(t)
	b.serveMCP("echo", "sub/.cursor/mcp.json")
	if err := os.Mkdir(filepath.Join(b.space, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	root := workspace(b.space)
	if got := workspace(filepath.Join(b.space, "sub")).root(); got != root {
		t.Errorf("root %s, want %s", got, root)
	}
}

func TestMCPCommands(t *testing.T) {
	b := newBox(t)
	if out := b.run("mcp", "list"); out.stdout != "No MCP servers configured\n" {
		t.Errorf("list: %+v", out)
	}
	b.serveMCP("echo", ".cursor/mcp.json")
	if out := b.run("mcp", "list"); out.stdout != "echo: not loaded (needs approval)\n" {
		t.Errorf("list: %+v", out)
	}
	if out := b.run("mcp", "list-tools", "echo"); out.code != 1 {
		t.Errorf("list-tools of an unapproved server: %+v", out)
	}
	if out := b.run("mcp", "enable", "nobody"); out.code != 1 || !strings.Contains(out.stderr, "'nobody' not found") {
		t.Errorf("enable nobody: %+v", out)
	}
	if out := b.run("mcp", "enable", "echo"); out.code != 0 {
		t.Errorf("enable: %+v", out)
	}
	if out := b.run("mcp", "list"); out.stdout != "echo: ready\n" {
		t.Errorf("list: %+v", out)
	}
	if out := b.run("mcp", "list-tools", "echo"); !strings.Contains(out.stdout, "- echo: Say it again\n") {
		t.Errorf("list-tools: %+v", out)
	}
}
