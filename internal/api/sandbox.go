package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/engine"
)

func (s *server) sandbox(ctx context.Context, in *RefInput) (*body[substrat.SandboxView], error) {
	v, err := s.Engine.Sandbox(ctx, in.Ref)
	return &body[substrat.SandboxView]{v}, err
}

// hangUpTime is how long whoever has a shell may take to end it once the daemon stops.
const hangUpTime = 3 * time.Second

// shell answers with what a person's shell in an agent's sandbox is started with, and keeps what that needs until the connection is
// closed. It is for whoever is on this machine: what it answers is started there, and may hold keys.
func (s *server) shell(w http.ResponseWriter, r *http.Request) {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); !ok || at.Network() != "unix" {
		writeProblem(w, substrat.Errorf(substrat.CodeForbidden, "a shell in a sandbox is for the machine that the daemon runs on").WithHint("use its socket: unset SUBSTRAT_URL"))
		return
	}
	var ask engine.ShellAsk
	if err := json.NewDecoder(io.LimitReader(r.Body, bodyMost)).Decode(&ask); err != nil {
		writeProblem(w, substrat.Errorf(substrat.CodeInvalid, "cannot read what to run: %v", err))
		return
	}
	var conn net.Conn
	err := s.Engine.Shell(r.Context(), r.PathValue("ref"), ask, func(ctx context.Context, p engine.ShellPlan, entered func(engine.ShellNote)) error {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return substrat.Errorf(substrat.CodeInternal, "cannot take over the connection: %v", err)
		}
		conn = c
		return lend(ctx, conn, rw, p, entered)
	})
	switch {
	case conn != nil:
		// Nothing is left of it now.
		_ = conn.Close()
	case err != nil:
		writeProblem(w, err)
	}
}

// lend speaks with whoever has the shell until that one hangs up. When ctx ends it says so, and waits for a moment.
func lend(ctx context.Context, conn net.Conn, rw *bufio.ReadWriter, p engine.ShellPlan, entered func(engine.ShellNote)) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shell\r\n\r\n" + string(data) + "\n")
	if err != nil || rw.Flush() != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetDeadline(time.Now().Add(hangUpTime))
		_, _ = io.WriteString(conn, "{}\n")
	})
	defer stop()
	for notes := json.NewDecoder(rw.Reader); ; {
		var n engine.ShellNote
		if notes.Decode(&n) != nil {
			return nil
		}
		entered(n)
	}
}
