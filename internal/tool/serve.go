package tool

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"substrat.dev/substrat"
)

// guide is what an MCP client shows its model of the server.
const guide = `Tools for working in a team of agents. They all answer at once and never wait for another agent.
Replies arrive as your next message after you end your turn; do not poll. Call complete when your job is done.`

// preamble is the first line of a relay: {"substrat":{"v":1,"relay":"<nonce>","token":"<turn token>"}}.
type preamble struct {
	Substrat *struct {
		V     int    `json:"v"`
		Relay string `json:"relay"`
		Token string `json:"token"`
		// Agent is what the caller believes to be. It is information only: identity is the socket.
		Agent string `json:"agent"`
	} `json:"substrat"`
}

// Serve speaks MCP with one connection until it closes or ctx ends. The connection is closed.
func Serve(ctx context.Context, host Host, caller Caller, conn io.ReadWriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	w := &wire{conn: conn, lines: newLines(conn)}
	nonce, err := w.admit(caller)
	if err != nil {
		_, _ = conn.Write(refusal(err))
		return err
	}
	return newServer(host, caller, nonce).Run(ctx, w)
}

// refusal is a JSON-RPC error for somebody who may not speak.
func refusal(err error) []byte {
	data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32600, "message": err.Error()}})
	return append(data, '\n')
}

// admit reads the preamble and checks the token. A caller without a token (an operator) may leave the preamble out.
func (w *wire) admit(caller Caller) (nonce string, err error) {
	line, err := w.lines.next()
	if err != nil {
		return "", err
	}
	var p preamble
	if json.Unmarshal(line, &p) != nil || p.Substrat == nil {
		if caller.Token != "" {
			return "", substrat.Errorf(substrat.CodeForbidden, "this socket takes a relay only: it has to say who it is first")
		}
		w.first = append([]byte(nil), line...)
		return rand.Text(), nil
	}
	if caller.Token != "" && subtle.ConstantTimeCompare([]byte(p.Substrat.Token), []byte(caller.Token)) != 1 {
		return "", substrat.Errorf(substrat.CodeForbidden, "this is not the token of the turn")
	}
	if p.Substrat.Relay == "" || len(p.Substrat.Relay) > 64 {
		return rand.Text(), nil
	}
	return p.Substrat.Relay, nil
}

// newServer makes the MCP server of one connection.
func newServer(host Host, caller Caller, nonce string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "substrat", Version: "1"}, &mcp.ServerOptions{Instructions: guide})
	for _, t := range All {
		s.AddTool(&mcp.Tool{Name: t.Name, Description: t.Prose, InputSchema: t.Schema}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			c := &call{host: host, caller: caller}
			if id, ok := req.Params.Meta[metaCall].(string); ok && caller.Turn != "" {
				c.key = caller.Turn + "/" + nonce + "/" + id
			}
			return answer(t.call(ctx, c, req.Params.Arguments)), nil
		})
	}
	return s
}

// answer makes a tool's result: structured, and the same as text for clients that read only that.
func answer(result any, err error) *mcp.CallToolResult {
	if err != nil {
		problem := &substrat.Error{Code: substrat.CodeOf(err), Message: err.Error()}
		if e, ok := asError(err); ok {
			problem = e
		}
		result = map[string]any{"error": problem}
	}
	data, encodeErr := json.Marshal(result)
	if encodeErr != nil {
		data = []byte(`{"error":{"code":"internal","message":"the answer could not be encoded"}}`)
		err = encodeErr
	}
	return &mcp.CallToolResult{IsError: err != nil, Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}, StructuredContent: json.RawMessage(data)}
}

// wire is a connection as the SDK wants it. It tells the tools the JSON-RPC id of each call, which the SDK keeps to
// itself: the id goes into the call's _meta, over anything the client may have put there.
type wire struct {
	conn  io.ReadWriteCloser
	lines *lines
	first []byte
	mu    sync.Mutex
}

// metaCall is where a call's JSON-RPC id stands.
const metaCall = "substrat.dev/call"

// Connect implements mcp.Transport.
func (w *wire) Connect(context.Context) (mcp.Connection, error) { return w, nil }

// SessionID implements mcp.Connection. There are no sessions: identity is the socket.
func (w *wire) SessionID() string { return "" }

// Close implements mcp.Connection.
func (w *wire) Close() error { return w.conn.Close() }

// Read implements mcp.Connection.
func (w *wire) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line := w.first
		w.first = nil
		if line == nil {
			var err error
			if line, err = w.lines.next(); err != nil {
				return nil, err
			}
		}
		msg, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			if err := w.write(refusal(err)); err != nil {
				return nil, err
			}
			continue
		}
		if req, ok := msg.(*jsonrpc.Request); ok && req.Method == "tools/call" {
			req.Params = markCall(req.Params, req.ID.Raw())
		}
		return msg, nil
	}
}

// Write implements mcp.Connection.
func (w *wire) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return w.write(append(data, '\n'))
}

func (w *wire) write(data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.conn.Write(data)
	return err
}

// markCall puts a call's id into its _meta. Numbers and strings stay apart.
func markCall(params json.RawMessage, id any) json.RawMessage {
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil || p == nil {
		return params
	}
	meta := map[string]json.RawMessage{}
	_ = json.Unmarshal(p["_meta"], &meta)
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	text, _ := json.Marshal(id)
	quoted, _ := json.Marshal(string(text))
	meta[metaCall] = quoted
	p["_meta"], _ = json.Marshal(meta)
	out, err := json.Marshal(p)
	if err != nil {
		return params
	}
	return out
}
