package tool

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"substrat.dev/substrat"
)

// guide is what an MCP client shows its model of the server.
const guide = `Tools for working in a team of agents. They all answer at once and never wait for another agent.
Replies arrive as your next message after you end your turn; do not poll. Call complete when your job is done.`

// preambleTime is how long a relay may take to say who it is.
const preambleTime = 10 * time.Second

// Serve speaks MCP with one connection until it closes or ctx ends: lines of JSON-RPC in the revisions 2024-11-05 to
// 2026-07-28. The connection is closed. A peer that may not speak gets one JSON-RPC error with the code -32099, and
// CodeForbidden, CodeVersion or CodeInvalid is returned; io.EOF if it said nothing at all.
func Serve(ctx context.Context, host Host, caller Caller, conn io.ReadWriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := newWire(conn)
	stop := context.AfterFunc(ctx, w.hangUp)
	defer stop()
	defer w.hangUp()
	nonce, err := w.greet(caller)
	if err != nil {
		if !errors.Is(err, io.EOF) {
			_ = w.write(refusal(nil, codeRefused, err.Error()))
		}
		return err
	}
	if w.serves != "" {
		return w.launch(ctx, caller)
	}
	for {
		err := newServer(host, caller, nonce, w).Run(ctx, w)
		if !w.anew.CompareAndSwap(true, false) {
			return err
		}
	}
}

// greet reads the first line of a connection.
func (w *wire) greet(caller Caller) (nonce string, err error) {
	timed, ok := w.conn.(interface{ SetReadDeadline(time.Time) error })
	if ok = ok && caller.Token != ""; ok {
		_ = timed.SetReadDeadline(time.Now().Add(preambleTime))
	}
	line, err := w.lines.next()
	if err != nil {
		return "", err
	}
	nonce, used, err := admit(line, caller)
	if !used && err == nil {
		w.held = append([]byte(nil), line...)
	}
	if used && err == nil {
		w.serves = serves(line)
	}
	if ok {
		_ = timed.SetReadDeadline(time.Time{})
	}
	return nonce, err
}

// newServer makes the MCP server of one session. Its list of tools does not change, so nobody need subscribe to it.
func newServer(host Host, caller Caller, nonce string, w *wire) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "substrat", Version: "1"},
		&mcp.ServerOptions{Instructions: guide, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	known := map[string]bool{}
	for i := range All {
		t := &All[i]
		known[t.Name] = true
		s.AddTool(t.listed(), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			c := &call{host: host, caller: caller}
			if caller.Turn != "" {
				c.key = caller.Turn + "/" + nonce + "/" + req.Extra.Header.Get(callHeader)
			}
			result, err := t.invoke(ctx, c, req.Params.Arguments)
			if ctx.Err() == nil && leaving(err) {
				w.hangUp()
			}
			return answer(result, err), nil
		})
	}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok && p != nil && !known[p.Name] {
				return answer(nil, unknown(p.Name)), nil
			}
			return next(ctx, method, req)
		}
	})
	return s
}

// leaving reports whether a call failed because the daemon is on its way out. Whether it was made durable is then
// open, so it is not answered: the connection closes, and the relay repeats the call to the next daemon, which knows.
func leaving(err error) bool {
	return err != nil && (errors.Is(err, context.Canceled) || substrat.CodeOf(err) == substrat.CodeUnavailable)
}
