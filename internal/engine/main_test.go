package engine

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"substrat.dev/substrat/internal/confine"
	"substrat.dev/substrat/internal/netns"
	"substrat.dev/substrat/internal/relay"
	"substrat.dev/substrat/internal/sim"
	"substrat.dev/substrat/internal/sock"
	"substrat.dev/substrat/internal/turn"
)

// The shim starts its child from the main thread.
func init() { runtime.LockOSThread() }

// TestMain lets the test binary stand for the real one: as the shim, the simulator and the relay.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "cursor-agent" {
		os.Exit(sim.Main(context.Background(), os.Args, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case turn.ShimCommand:
			os.Exit(turn.ShimMain(os.Args[2]))
		case confine.Command:
			os.Exit(confine.Main(os.Args[2:]))
		case netns.Command:
			os.Exit(netns.Main(os.Args[2:]))
		case "mcp":
			token, _ := os.ReadFile(os.Getenv("SUBSTRAT_TOKEN_FILE"))
			_ = relay.Run(context.Background(), relay.Options{
				Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
					return sock.Dial(ctx, os.Getenv("SUBSTRAT_SOCKET"))
				},
				Token: string(token), Stdin: os.Stdin, Stdout: os.Stdout,
			})
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}
