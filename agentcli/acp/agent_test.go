package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The agent that the tests talk to is this test binary, started with FAKE_AGENT set. What it does follows from the prompt.

func TestMain(m *testing.M) {
	if os.Getenv("FAKE_AGENT") != "" {
		(&fakeAgent{in: bufio.NewReader(os.Stdin), how: os.Getenv("FAKE_AGENT")}).run()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type fakeAgent struct {
	in       *bufio.Reader
	how      string
	loggedIn bool
	next     int
	prompt   json.RawMessage // the id of the open prompt
}

func (a *fakeAgent) put(v string, args ...any) { fmt.Printf(v+"\n", args...) }

func (a *fakeAgent) update(format string, args ...any) {
	a.put(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}`, fmt.Sprintf(format, args...))
}

func (a *fakeAgent) text(s string) {
	data, _ := json.Marshal(s)
	a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}`, data)
}

func (a *fakeAgent) read() (rpc, bool) {
	line, err := a.in.ReadString('\n')
	var m rpc
	_ = json.Unmarshal([]byte(line), &m)
	return m, err == nil
}

// ask makes a request to the client and gives its answer; a cancel meanwhile is noted.
func (a *fakeAgent) ask(method, params string) (answer string, cancelled bool) {
	a.next++
	a.put(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, a.next, method, params)
	for {
		m, ok := a.read()
		if !ok {
			os.Exit(3)
		}
		if m.Method == "session/cancel" {
			cancelled = true
			continue
		}
		if m.Method == "" && string(m.ID) == fmt.Sprint(a.next) {
			if m.Error != nil {
				return string(m.Error), cancelled
			}
			return string(m.Result), cancelled
		}
	}
}

func (a *fakeAgent) run() {
	for {
		m, ok := a.read()
		if !ok {
			return
		}
		a.take(m)
	}
}

func (a *fakeAgent) take(m rpc) {
	switch m.Method {
	case "initialize":
		a.put(`not json at all`)
		a.put(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"too early"}}}}`)
		load := strings.Contains(a.how, "load")
		list := ""
		if strings.Contains(a.how, "list") {
			list = `,"sessionCapabilities":{"list":{}}`
		}
		a.put(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":%v`+list+`},"authMethods":[{"id":"token","name":"Token"}]}}`, m.ID, load)
	case "authenticate":
		a.loggedIn = true
		a.put(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	case "session/new":
		if strings.Contains(a.how, "login") && !a.loggedIn {
			a.put(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"Authentication required"}}`, m.ID)
			return
		}
		a.update(`{"sessionUpdate":"available_commands_update","availableCommands":[]}`)
		a.put(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s1","modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"Default"},{"id":"plan","name":"Plan"}]},"models":{"currentModelId":"m1","availableModels":[{"modelId":"m1","name":"One"},{"modelId":"m2","name":"Two"}]}}}`, m.ID)
	case "session/load":
		var p struct{ SessionID string }
		_ = json.Unmarshal(m.Params, &p)
		if p.SessionID != "s1" {
			a.put(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"no such session"}}`, m.ID)
			return
		}
		a.text("history")
		a.put(`{"jsonrpc":"2.0","id":%s,"result":null}`, m.ID)
		a.text("late history")
	case "session/list":
		if strings.Contains(string(m.Params), "cursor") {
			a.put(`{"jsonrpc":"2.0","id":%s,"result":{"sessions":[{"sessionId":"s2","cwd":"/w","title":"Two"}]}}`, m.ID)
			return
		}
		a.put(`{"jsonrpc":"2.0","id":%s,"result":{"sessions":[{"sessionId":"s1","cwd":"/w","title":"One","updatedAt":"2026-10-01T10:00:00Z"}],"nextCursor":"more"}}`, m.ID)
	case "session/set_mode", "session/set_model":
		fmt.Fprintln(os.Stderr, m.Method, string(m.Params))
		a.put(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	case "session/prompt":
		a.prompt = m.ID
		var p struct{ Prompt []struct{ Text string } }
		_ = json.Unmarshal(m.Params, &p)
		a.play(p.Prompt[len(p.Prompt)-1].Text, len(p.Prompt))
	case "session/cancel", "":
	default:
		if m.ID != nil {
			a.put(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
	}
}

func (a *fakeAgent) end(reason string) {
	a.put(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":%q,"usage":{"inputTokens":7,"outputTokens":2,"totalTokens":9}}}`, a.prompt, reason)
}

const permission = `{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"rm -rf build","kind":"execute","rawInput":{"command":"rm -rf build"}},"options":[{"optionId":"never","name":"No","kind":"reject_once"},{"optionId":"ok","name":"Yes","kind":"allow_once"}]}`

func (a *fakeAgent) play(prompt string, blocks int) {
	what, rest, _ := strings.Cut(prompt, " ")
	switch what {
	case "talk":
		a.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`)
		a.text("one ")
		a.text("two")
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Read a.txt","kind":"read","status":"pending","locations":[{"path":"/w/a.txt","line":3}],"rawInput":{"path":"/w/a.txt"}}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"in_progress"}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"the file"}}]}`)
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t2","title":"Edit a.txt","kind":"edit","status":"completed","content":[{"type":"diff","path":"/w/a.txt","oldText":"x\n","newText":"y\n"}]}`)
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t3","title":"mcp__substrat__send_message","kind":"other","status":"failed","rawOutput":"no such agent"}`)
		a.update(`{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"completed"},{"content":"b","priority":"low","status":"pending"}]}`)
		a.put(`{"jsonrpc":"2.0","method":"_vendor/thing","params":{}}`)
		a.put(`{"jsonrpc":"2.0","id":"v1","method":"_vendor/ask","params":{}}`)
		a.text(fmt.Sprintf("%d blocks", blocks))
		a.end("end_turn")
		a.text("too late")
	case "may":
		answer, _ := a.ask("session/request_permission", permission)
		status := "failed"
		if strings.Contains(answer, `"ok"`) {
			status = "completed"
		}
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":%q}`, status)
		a.text(answer)
		a.end("end_turn")
	case "wait":
		answer, cancelled := a.ask("session/request_permission", permission)
		a.text(fmt.Sprint(answer, cancelled))
		a.end("cancelled")
	case "hang":
		a.text("up")
		for {
			if m, ok := a.read(); !ok || m.Method == "session/cancel" {
				break
			}
		}
		a.end("cancelled")
	case "deaf":
		a.text("up")
		time.Sleep(time.Hour)
	case "fail":
		a.put(`{"jsonrpc":"2.0","id":%s,"error":%s}`, a.prompt, rest)
	case "die":
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(7)
	case "big":
		a.text(strings.Repeat("x", 20<<20))
		a.text("after")
		a.end("end_turn")
	case "ask":
		method, params, _ := strings.Cut(rest, " ")
		answer, _ := a.ask(method, params)
		a.text(answer)
		a.end("end_turn")
	case "cursor":
		a.put(`{"jsonrpc":"2.0","method":"cursor/update_todos","params":{"toolCallId":"c","todos":[{"id":"1","content":"a","status":"pending"},{"id":"2","content":"b","status":"pending"}],"merge":false}}`)
		a.put(`{"jsonrpc":"2.0","method":"cursor/update_todos","params":{"toolCallId":"c","todos":[{"id":"2","content":"b","status":"completed"}],"merge":true}}`)
		a.put(`{"jsonrpc":"2.0","method":"cursor/task","params":{"toolCallId":"k","description":"look around","prompt":"p","subagentType":"explore"}}`)
		a.put(`{"jsonrpc":"2.0","method":"cursor/generate_image","params":{"toolCallId":"g","description":"a cat","filePath":"/w/cat.png"}}`)
		a.end("end_turn")
	}
}
