package api

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat/internal/sock"
	"substrat.dev/substrat/internal/tool"
)

// nobodyHome is a host that is asked nothing: whatever reaches it by an operator's route would panic.
type nobodyHome struct{ tool.Host }

func (nobodyHome) Refused(context.Context, tool.Caller, string) {}

// TestAgentSocketHasNoRoutes: T2. No route of the control API does anything on an agent's socket, however it is asked for.
func TestAgentSocketHasNoRoutes(t *testing.T) {
	dir := t.TempDir()
	l, err := tool.Listen(dir, tool.Caller{Team: "t", Agent: "a", Turn: "t1", Token: "secret", Name: "a"}, nobodyHome{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const hello = `{"substrat":{"v":1,"relay":"r","token":"secret"}}` + "\n" +
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	// say gives what is answered to a text, without the answer to the greeting.
	say := func(text string, greeted bool) string {
		c, err := sock.Dial(t.Context(), filepath.Join(dir, "agent.sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		in := bufio.NewReader(c)
		if greeted {
			_, _ = c.Write([]byte(hello))
			if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "serverInfo") {
				t.Fatalf("the greeting: %q, %v", line, err)
			}
		}
		_, _ = c.Write([]byte(text))
		line, _ := in.ReadString('\n')
		return line
	}
	if got := say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n", true); !strings.Contains(got, "send_message") {
		t.Fatalf("the socket answers nothing at all: %.200s", got)
	}
	for _, r := range routes {
		path := strings.NewReplacer("{ref}", "a", "{id}", "x").Replace(r.path)
		http := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: substrat\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}\n", r.method, path)
		for _, x := range []struct {
			text    string
			greeted bool
		}{
			{http, false}, {http, true},
			{fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`+"\n", r.id), true},
			{fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`+"\n", r.method+" "+path), true},
			{fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`+"\n", r.id), true},
			{fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q}}`+"\n", "http://substrat"+path), true},
		} {
			if got := say(x.text, x.greeted); !strings.Contains(got, `"error"`) && !strings.Contains(got, `"isError":true`) {
				t.Errorf("%s: %q is answered with %.200q", r.id, x.text, got)
			}
		}
	}
}
