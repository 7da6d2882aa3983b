package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"substrat.dev/substrat"
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

// TestResume: every way to go on that an agent offers is tried before its session is given up, and it is not given up for what
// says nothing of it.
func TestResume(t *testing.T) {
	const (
		yes, unknown = `"result":{}`, `"error":{"code":-32002,"message":"no such session"}`
		both         = `"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}},"authMethods":[{"id":"token"}]}`
		onlyLoad     = `"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`
	)
	refused := func(code int, words string) string {
		return fmt.Sprintf(`"error":{"code":%d,"message":%q}`, code, words)
	}
	for name, c := range map[string]struct {
		init, resume, load string
		session            string
		methods            string
		class              substrat.FailureClass
	}{
		"resumed":            {both, yes, unknown, "s9", "session/resume", ""},
		"loaded instead":     {both, unknown, yes, "s9", "session/resume session/load", ""},
		"not implemented":    {both, refused(-32601, "no such method"), yes, "s9", "session/resume session/load", ""},
		"given up":           {both, unknown, unknown, "s1", "session/resume session/load session/new", ""},
		"only loads":         {onlyLoad, yes, yes, "s9", "session/load", ""},
		"over its quota":     {both, refused(402, "usage limit reached"), yes, "", "session/resume", substrat.ClassQuota},
		"asked too often":    {onlyLoad, yes, refused(-32603, "429 too many requests"), "", "session/load", substrat.ClassRateLimit},
		"network":            {both, unknown, refused(-32603, "fetch failed"), "", "session/resume session/load", substrat.ClassNetwork},
		"login does not do":  {both, refused(-32000, "authentication required"), yes, "", "session/resume authenticate session/resume", substrat.ClassAuth},
		"cannot resume ever": {`"result":{"protocolVersion":1,"agentCapabilities":{}}`, yes, yes, "s1", "session/new", ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn := greetingAgent()
			conn.answers["initialize"], conn.answers["session/resume"], conn.answers["session/load"] = []string{c.init}, []string{c.resume}, []string{c.load}
			conn.answers["authenticate"] = []string{yes}
			greeting, err := New(Options{}).Greet(t.Context(), conn, agentcli.Request{Session: "s9"})
			var failure *agentcli.Failure
			if errors.As(err, &failure) != (c.class != "") || failure != nil && failure.Class != c.class || greeting.Session != c.session || conn.methods() != c.methods {
				t.Errorf("%+v, %v after %s", greeting, err, conn.methods())
			}
			if forgot := strings.Contains(strings.Join(greeting.Notes, " "), "remembers nothing"); forgot != (c.session == "s1") {
				t.Errorf("it says %q", greeting.Notes)
			}
		})
	}
	conn := greetingAgent()
	conn.answers["initialize"], conn.answers["authenticate"] = []string{both}, []string{yes}
	conn.answers["session/resume"] = []string{refused(-32000, "authentication required"), yes}
	if greeting, err := New(Options{}).Greet(t.Context(), conn, agentcli.Request{Session: "s9"}); err != nil || greeting.Session != "s9" {
		t.Errorf("after a login: %+v %v", greeting, err)
	}
}

// TestOffers: an agent that is to change nothing is offered nothing that changes something.
func TestOffers(t *testing.T) {
	for mode, want := range map[agentcli.Mode]string{
		agentcli.ModeDefault: `{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}`,
		agentcli.ModeForce:   `{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}`,
		agentcli.ModePlan:    `{"fs":{"readTextFile":true,"writeTextFile":false},"terminal":false}`,
		agentcli.ModeAsk:     `{"fs":{"readTextFile":true,"writeTextFile":false},"terminal":false}`,
	} {
		conn := greetingAgent()
		if _, err := New(Options{FS: true, Terminals: true}).Greet(t.Context(), conn, agentcli.Request{Mode: mode}); err != nil {
			t.Fatal(err)
		}
		var p struct {
			Offered json.RawMessage `json:"clientCapabilities"`
		}
		if err := json.Unmarshal(conn.sent[0].Params, &p); err != nil || string(p.Offered) != want {
			t.Errorf("%s: %s, %v", mode, p.Offered, err)
		}
	}
}

// TestStrayElicitation: outside a turn nobody is there who could even decline.
func TestStrayElicitation(t *testing.T) {
	got := string(New(Options{}).Stray([]byte(`{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{}}`)))
	if got != `{"jsonrpc":"2.0","id":4,"result":{"action":"cancel"}}` {
		t.Error(got)
	}
}
