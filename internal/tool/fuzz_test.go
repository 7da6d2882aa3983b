package tool

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// FuzzSocket: nothing that is said on an agent's socket makes the daemon panic or hang; whoever does not say the token is
// served nothing.
func FuzzSocket(f *testing.F) {
	const hello = `{"substrat":{"v":1,"relay":"r","token":"secret"}}` + "\n"
	for _, text := range []string{
		"", "\n", "GET / HTTP/1.1\r\n\r\n", `{"substrat":{"v":1}}`, `{"substrat":null}`, hello,
		hello + `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_message","arguments":{"recipient":"coder","text":"x"}}}` + "\n",
		hello + `[{"jsonrpc":"2.0","id":1,"method":"tools/list"},1,null]` + "\n", hello + `{"jsonrpc":"2.0","id":{"a":1},"method":7}` + "\n",
		hello + strings.Repeat("[", 5000) + "\n", hello + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n",
		hello + "\xff\xfe\x00\n", hello + `{"id":1e999,"jsonrpc":"2.0","method":"ping"}` + "\n", hello + `{"id":1,"id":2,"jsonrpc":"2.0","method":"ping"}` + "\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		ours, theirs := net.Pipe()
		served := make(chan struct{})
		go func() { defer close(served); _ = Serve(ctx, newMemory(), lead, theirs) }()
		said := make(chan struct{})
		go func() {
			defer close(said)
			_ = ours.SetWriteDeadline(time.Now().Add(10 * time.Second))
			_, _ = io.WriteString(ours, text+"\n")
			// One that says nothing more is not waited for.
			_ = ours.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		}()
		answers, _ := io.ReadAll(io.LimitReader(ours, 8<<20))
		<-said
		_ = ours.Close()
		<-served
		if ctx.Err() != nil {
			t.Error("it hangs")
		}
		if !strings.Contains(text, "secret") && strings.Contains(string(answers), `"result"`) {
			t.Errorf("served without the token: %.200s", answers)
		}
	})
}
