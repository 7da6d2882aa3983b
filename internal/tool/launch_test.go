package tool

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/relay"
	"substrat.dev/substrat/internal/sock"
)

// TestLaunch asks how a server is started, as the program does that becomes it: the one with the turn's token is told of its own
// servers, and nobody else of any.
func TestLaunch(t *testing.T) {
	dir, host := t.TempDir(), newMemory()
	caller := lead
	caller.Launch = func(_ context.Context, server string) (Launch, error) {
		if server != "probe" {
			return Launch{}, substrat.Errorf(substrat.CodeNotFound, "no MCP server %s", server)
		}
		return Launch{Argv: []string{"serve", "it"}, Env: map[string]string{"KEY": "cnry-1"}}, nil
	}
	l, err := Listen(dir, caller, host, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ask := func(token, server string) ([]string, map[string]string, error) {
		return relay.Launch(t.Context(), relay.Options{Token: token, Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			return sock.Dial(ctx, filepath.Join(dir, "agent.sock"))
		}}, server)
	}
	argv, env, err := ask("secret", "probe")
	if err != nil || strings.Join(argv, " ") != "serve it" || env["KEY"] != "cnry-1" {
		t.Errorf("it is told %q %q %v", argv, env, err)
	}
	if _, env, err := ask("secret", "other"); !errors.Is(err, relay.ErrRefused) || env != nil {
		t.Errorf("of another server it is told %q %v", env, err)
	}
	if _, env, err := ask("guess", "probe"); !errors.Is(err, relay.ErrRefused) || env != nil {
		t.Errorf("with another token it is told %q %v", env, err)
	}
	if why := <-host.refused; !strings.Contains(why, "token") {
		t.Errorf("on record: %s", why)
	}
}

// TestHidden takes what the caller hides out of a call's arguments before anything is made of them.
func TestHidden(t *testing.T) {
	r := newRig(t)
	caller := lead
	caller.Hide = func(args []byte) []byte { return []byte(strings.ReplaceAll(string(args), "cnry-1", "[redacted]")) }
	_, err := Call(t.Context(), r.host, caller, "k", "send_message", []byte(`{"recipient":"USER","text":"it is cnry-1"}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.host.times("it is [redacted]") != 1 {
		t.Error("the message holds what was to be hidden")
	}
}
