package api

import (
	"bufio"
	"net"
	"net/http"
	"strings"

	"substrat.dev/substrat"
)

// speakAs hands the connection over to the MCP server of an agent's tools.
func (s *server) speakAs(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "mcp") || s.MCP == nil {
		writeProblem(w, substrat.Errorf(substrat.CodeInvalid, "cannot speak MCP here without `Upgrade: mcp`").WithHint("substrat mcp --as PATH does it"))
		return
	}
	ref := r.PathValue("ref")
	if _, err := s.Engine.Agent(r.Context(), ref); err != nil {
		writeProblem(w, err)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		writeProblem(w, substrat.Errorf(substrat.CodeInternal, "cannot take over the connection: %v", err))
		return
	}
	defer conn.Close()
	if _, err := rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n"); err != nil || rw.Flush() != nil {
		return
	}
	_ = s.MCP(r.Context(), ref, buffered{conn, rw.Reader})
}

// buffered reads what came behind the request's head first.
type buffered struct {
	net.Conn
	in *bufio.Reader
}

// Read implements io.Reader.
func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }
