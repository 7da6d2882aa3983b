//go:build attack && linux

package attack

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"substrat.dev/substrat"
)

const ownSock = "/run/substrat/sock/agent.sock"

func ownToken() string {
	data, _ := os.ReadFile("/run/substrat/sock/token")
	return strings.TrimSpace(string(data))
}

// mcp is a connection to a tool socket, without the relay in between.
type mcp struct {
	c   net.Conn
	r   *bufio.Reader
	seq int
}

// greet opens a connection with a first line of the attacker's choice and does the handshake.
func greet(sock string, first any) (*mcp, error) {
	c, err := net.DialTimeout("unix", sock, dialTime)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	m := &mcp{c: c, r: bufio.NewReader(c)}
	line, _ := json.Marshal(first)
	if _, err := c.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	_, err = m.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "probe", "version": "1"}}, nil)
	if err == nil {
		_, err = c.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"))
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return m, nil
}

func preamble(token, agent string) map[string]any {
	return map[string]any{"substrat": map[string]any{"v": 1, "relay": "probe" + itoa(int(time.Now().UnixNano()&0xffffff)), "token": token, "agent": agent}}
}

// ask makes a request and gives its result. more is laid over the request.
func (m *mcp) ask(method string, params any, more map[string]any) (json.RawMessage, error) {
	m.seq++
	req := map[string]any{"jsonrpc": "2.0", "id": m.seq, "method": method, "params": params}
	for k, v := range more {
		req[k] = v
	}
	line, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	if _, err := m.c.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	for {
		answer, err := m.r.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var a struct {
			ID     any             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(answer, &a) != nil {
			return nil, fmt.Errorf("%.200q", answer)
		}
		if a.Error != nil {
			return nil, errors.New(a.Error.Message)
		}
		if a.Result != nil {
			return a.Result, nil
		}
	}
}

// tool calls one, and gives its text; an error if the tool refused.
func (m *mcp) tool(name string, args map[string]any, more map[string]any) (string, error) {
	raw, err := m.ask("tools/call", map[string]any{"name": name, "arguments": args}, more)
	if err != nil {
		return "", err
	}
	var r struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", err
	}
	text := ""
	if len(r.Content) > 0 {
		text = r.Content[0].Text
	}
	if r.IsError {
		return "", errors.New(text)
	}
	return text, nil
}

// enters says what a first line came to.
func enters(sock string, first any) outcome {
	m, err := greet(sock, first)
	if err != nil {
		return was(refused, "%v", err)
	}
	defer m.c.Close()
	text, err := m.tool("list_children", nil, nil)
	if err != nil {
		return was(refused, "%v", err)
	}
	return was(hole, "admitted: %.100s", text)
}

// asMyself tries tool calls with the attacker's own right to speak. All must be refused.
func asMyself(calls ...[2]any) func(*facts) outcome {
	return func(f *facts) outcome {
		m, err := greet(ownSock, preamble(ownToken(), ""))
		if err != nil {
			return was(untried, "%v", err)
		}
		defer m.c.Close()
		var last error
		for _, c := range calls {
			args, _ := c[1].(map[string]any)
			for k, v := range args {
				if s, ok := v.(string); ok {
					args[k] = strings.NewReplacer("$VICTIM", f.Agents["victim"].ID, "$LEAD", f.Agents["lead"].ID, "$STRANGER", f.Agents["stranger"].ID).Replace(s)
				}
			}
			text, err := m.tool(c[0].(string), args, nil)
			if err == nil {
				return was(hole, "%s %v: %.120s", c[0], args, text)
			}
			last = fmt.Errorf("%s: %w", c[0], err)
		}
		return was(refused, "%.200v", last)
	}
}

func identity() []attempt {
	tokenEvent := regexp.MustCompile(`(?i)token|refus|identity|forbidden`)
	return []attempt{
		{id: "I01", threat: "T1", what: "open its own socket with a token that is made up, or without one", try: func(f *facts) outcome {
			for _, first := range []any{preamble("00000000000000000000000000000000", ""), preamble("", ""), map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, map[string]any{}} {
				if o := enters(ownSock, first); o.Verdict == hole {
					return o
				}
			}
			return enters(ownSock, preamble(strings.Repeat("f", 32), ""))
		}, event: tokenEvent},
		{id: "I02", threat: "T1", what: "use the token of an older turn", try: func(f *facts) outcome { return enters(ownSock, preamble(f.OldToken, "")) }, event: tokenEvent},
		{id: "I03", threat: "T1", what: "use the token of the victim's open turn on its own socket", try: func(f *facts) outcome {
			return enters(ownSock, preamble(f.VictimToken, f.Agents["victim"].ID))
		}, event: tokenEvent},
		{id: "I04", threat: "T1", what: "name the victim in the greeting, with its own token", try: func(f *facts) outcome {
			return speaksAs(f, preamble(ownToken(), f.Agents["victim"].ID), nil, "I04")
		}, judge: sentBy("I04")},
		{id: "I05", threat: "T1", what: "name the victim in _meta, in headers and in foreign fields of a call", try: func(f *facts) outcome {
			v := f.Agents["victim"].ID
			return speaksAs(f, preamble(ownToken(), ""), map[string]any{"agent": v, "turn": v, "params": map[string]any{
				"name": "send_message", "arguments": map[string]any{"recipient": "lead", "text": "by I05", "sync": false},
				"_meta": map[string]any{"agent": v, "substrat/agent": v, "from": "victim", "turn": v},
			}}, "I05")
		}, judge: sentBy("I05")},
		{id: "I06", threat: "T1", what: "name the victim in the arguments of tools", try: asMyself(
			[2]any{"send_message", map[string]any{"recipient": "lead", "text": "by I06", "sync": false, "agent": "$VICTIM"}},
			[2]any{"send_message", map[string]any{"recipient": "lead", "text": "by I06", "sync": false, "from": "victim"}},
			[2]any{"send_message", map[string]any{"recipient": "lead", "text": "by I06", "sync": false, "agent_id": "$VICTIM", "turn": "1"}},
		), judge: sentBy("I06")},
		{id: "I07", threat: "T1", what: "start the relay with another --agent-id", try: func(f *facts) outcome {
			out, err := runTool("/bin/sh", "-c", `{ echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}'
echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_message","arguments":{"recipient":"lead","text":"by I07","sync":false}}}'; sleep 1; } | timeout 5 /run/substrat/bin/substrat mcp --agent-id `+f.Agents["victim"].ID)
			return was(refused, "sent as itself, or not at all: %v %.80q", err, out)
		}, judge: sentBy("I07")},
		{id: "I08", threat: "T2", what: "call every route of the operator on the agent's socket, over HTTP", try: operatorRoutes},
		{id: "I09", threat: "T2", what: "call every route of the operator after a proper greeting", try: func(f *facts) outcome {
			for _, r := range f.Routes {
				m, err := greet(ownSock, preamble(ownToken(), ""))
				if err != nil {
					return was(untried, "%v", err)
				}
				_, err = m.ask(r[0]+" "+r[1], map[string]any{}, nil)
				_ = m.c.Close()
				if err == nil {
					return was(hole, "%v was answered", r)
				}
			}
			return was(refused, "%d routes, none is a method there", len(f.Routes))
		}},
		{id: "I10", threat: "T2", what: "use substrat's own commands inside: agent, send, daemon, workspace", try: func(f *facts) outcome {
			for _, args := range []string{"agent ls", "agent create evil --sandbox none", "send stranger hi", "daemon status", "events", "workspace ls", "log lead"} {
				out, err := runTool("/bin/sh", "-c", "SUBSTRAT_HOME="+f.Home+" /run/substrat/bin/substrat "+args)
				if err == nil {
					return was(hole, "%s: %.100s", args, out)
				}
			}
			return was(refused, "no daemon is in reach")
		}},
		{id: "I11", threat: "T3", what: "connect to the sockets of the daemon as another user of the host", play: otherUser},
		{id: "I12", threat: "T18", what: "break the daemon by its socket: huge lines, garbage, deep JSON, 100 connections", try: breakSocket},
	}
}

// speaksAs sends a message to the lead with what should make it another's.
func speaksAs(_ *facts, first any, more map[string]any, mark string) outcome {
	m, err := greet(ownSock, first)
	if err != nil {
		return was(refused, "%v", err)
	}
	defer m.c.Close()
	if _, err := m.tool("send_message", map[string]any{"recipient": "lead", "text": "by " + mark, "sync": false}, more); err != nil {
		return was(refused, "%.200v", err)
	}
	return was(refused, "the message went out as the attacker's own")
}

// sentBy sees that what an attempt sent, if anything, is the attacker's.
func sentBy(mark string) func(*world, outcome) outcome {
	return func(w *world, o outcome) outcome {
		for _, m := range w.messages() {
			if strings.Contains(m.Text, "by "+mark) && !strings.Contains(m.Text, "SCRIPT") && m.From != "lead/attacker" {
				return was(hole, "a message is from %s", m.From)
			}
		}
		return o
	}
}

func (w *world) messages() []substrat.Message {
	var list struct {
		Messages []substrat.Message `json:"messages"`
	}
	must(w.do(http.MethodGet, "/v1/messages?limit=1000", nil, &list))
	return list.Messages
}

var braces = regexp.MustCompile(`\{[^}]*\}`)

func operatorRoutes(f *facts) outcome {
	for _, greeting := range []string{"", string(mustJSON(preamble(ownToken(), ""))) + "\n"} {
		for _, r := range f.Routes {
			c, err := net.DialTimeout("unix", ownSock, dialTime)
			if err != nil {
				return was(untried, "%v", err)
			}
			_ = c.SetDeadline(time.Now().Add(100 * time.Millisecond))
			path := braces.ReplaceAllString(r[1], f.Agents["victim"].ID)
			_, _ = fmt.Fprintf(c, "%s%s %s HTTP/1.1\r\nHost: substrat\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}\n", greeting, r[0], path)
			answer, _ := io.ReadAll(io.LimitReader(c, 4096))
			_ = c.Close()
			if bytes.HasPrefix(answer, []byte("HTTP/")) {
				return was(hole, "%v: %.60q", r, answer)
			}
		}
	}
	return was(refused, "%d routes, none speaks HTTP", len(f.Routes))
}

func mustJSON(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

// breakSocket sends what no relay sends. Whether the daemon lives is seen from outside.
func breakSocket(*facts) outcome {
	junk := [][]byte{
		bytes.Repeat([]byte("a"), 40<<20), []byte("\x00\xff\xfe\n"), append(bytes.Repeat([]byte("["), 1<<20), '\n'),
		[]byte(`{"substrat":{"v":99,"relay":"x","token":"` + ownToken() + `"}}` + "\n"), []byte(`{"substrat":{"v":1,"relay":"../../x\n","token":"` + ownToken() + `"}}` + "\n"),
		append(append(mustJSON(preamble(ownToken(), "")), '\n'), bytes.Repeat([]byte(`{"a":`), 200_000)...),
		append(append(mustJSON(preamble(ownToken(), "")), '\n'), []byte(`{"jsonrpc":"2.0","id":1e999,"method":"tools/call","params":{"name":"\u0000","arguments":[]}}`+"\n")...),
		append(append(mustJSON(preamble(ownToken(), "")), '\n'), append(bytes.Repeat([]byte("x"), 64<<20), '\n')...),
	}
	for _, j := range junk {
		c, err := net.DialTimeout("unix", ownSock, dialTime)
		if err != nil {
			return was(untried, "%v", err)
		}
		_ = c.SetDeadline(time.Now().Add(dialTime))
		_, _ = c.Write(j)
		_, _ = io.ReadAll(io.LimitReader(c, 1<<16))
		_ = c.Close()
	}
	var open []net.Conn
	for range 100 {
		if c, err := net.DialTimeout("unix", ownSock, dialTime); err == nil {
			open = append(open, c)
		}
	}
	for _, c := range open {
		_ = c.Close()
	}
	if o := enters(ownSock, preamble(ownToken(), "")); o.Verdict != hole {
		return was(contained, "its own socket does not answer any more: %s", o.Text)
	}
	return was(refused, "%d kinds of junk and %d connections; the socket answers as before", len(junk), len(open))
}

// otherUser connects as an ordinary user to a root daemon's sockets. It takes root to become another user.
func otherUser(w *world) outcome {
	if os.Geteuid() != 0 {
		return was(untried, "it takes root to become another user")
	}
	out, err := runTool("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh", "-c",
		"ls "+w.home+" && echo listed; cat "+w.home+"/journal.db && echo read; SUBSTRAT_HOME="+w.home+" "+w.bin+"/substrat agent ls && echo listed")
	if strings.Contains(out, "listed") || strings.Contains(out, "read\n") {
		return was(hole, "%.100q", out)
	}
	return was(refused, "%v: %.80q", err, firstLine(out))
}
