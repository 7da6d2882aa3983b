package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"substrat.dev/substrat/agentcli"
)

// askedConn is an agent that answers requests by their method, with the members "result" or "error" as they are given, in order; the
// last holds for all that come. It keeps what it was sent.
type askedConn struct {
	answers map[string][]string
	sent    []message
	out     []string
}

func (c *askedConn) WriteFrame(_ context.Context, line []byte) error {
	m, _ := parse(line)
	c.sent = append(c.sent, m)
	if !m.isRequest() {
		return nil
	}
	answer := `"error":{"code":-32601,"message":"no such method"}`
	if list := c.answers[m.Method]; len(list) > 0 {
		answer = list[0]
		if len(list) > 1 {
			c.answers[m.Method] = list[1:]
		}
	}
	c.out = append(c.out, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer))
	return nil
}

func (c *askedConn) ReadFrame(context.Context) (agentcli.Frame, error) {
	if len(c.out) == 0 {
		return agentcli.Frame{}, agentcli.EOF
	}
	data := []byte(c.out[0])
	c.out = c.out[1:]
	return agentcli.Frame{Data: data}, nil
}

// methods lists what was sent, in order, without what every greeting has.
func (c *askedConn) methods() string {
	var out []string
	for _, m := range c.sent {
		if m.Method != "initialize" && m.Method != barrierMethod {
			out = append(out, m.Method)
		}
	}
	return strings.Join(out, " ")
}

func greetingAgent() *askedConn {
	return &askedConn{answers: map[string][]string{
		"initialize":  {`"result":{"protocolVersion":1,"agentCapabilities":{}}`},
		"session/new": {`"result":{"sessionId":"s1","modes":{"currentModeId":"read-only","availableModes":[{"id":"read-only","name":"Read Only"},{"id":"auto","name":"Default"},{"id":"full-access","name":"Full"}]}}`},
		// What follows is asked for only where the session offers it.
		"session/set_mode": {`"result":{}`},
	}}
}

// TestAskFirst: where the host decides on single commands, an agent is made to ask by its arguments, and no mode undoes that.
func TestAskFirst(t *testing.T) {
	p := New(Options{Command: []string{"/bin/agent"}, AsNamed: true, ForceModes: []string{"auto"}, BoxedModes: []string{"full-access"}, AskArgs: []string{"-c", "ask"}})
	for name, c := range map[string]struct {
		req        agentcli.Request
		mode, args string
	}{
		"boxed":     {agentcli.Request{Mode: agentcli.ModeForce}, "full-access", "/bin/agent"},
		"bare":      {agentcli.Request{Mode: agentcli.ModeForce, Bare: true}, "auto", "/bin/agent"},
		"asks":      {agentcli.Request{Mode: agentcli.ModeForce, AskFirst: true}, "", "/bin/agent -c ask"},
		"only asks": {agentcli.Request{Mode: agentcli.ModeAsk, AskFirst: true}, "", "/bin/agent"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, err := p.Command(c.req)
			if got := strings.Join(cmd.Argv, " "); err != nil || got != c.args {
				t.Errorf("%s, %v", got, err)
			}
			conn := greetingAgent()
			if _, err := p.Greet(t.Context(), conn, c.req); err != nil {
				t.Fatal(err)
			}
			mode := struct{ ModeID string }{}
			for _, m := range conn.sent {
				if m.Method == "session/set_mode" {
					_ = json.Unmarshal(m.Params, &mode)
				}
			}
			if mode.ModeID != c.mode {
				t.Errorf("mode %q, want %q", mode.ModeID, c.mode)
			}
		})
	}
}
