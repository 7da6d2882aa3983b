// Command substrat-shim is the small program that stands between the daemon and the agents: the shim of a turn, the steps that make a
// sandbox, and the relay that agents start for their tools. The substrat binary has the same commands; this one is there because each
// of them is started for every turn, and a program of a few megabytes is up several times faster. It is used when it lies beside the
// substrat binary and comes from the same build.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"substrat.dev/substrat/internal/confine"
	"substrat.dev/substrat/internal/netns"
	"substrat.dev/substrat/internal/relay"
	"substrat.dev/substrat/internal/turn"
	"substrat.dev/substrat/internal/version"
)

// A shim starts its child from the main thread: a parent-death signal follows the thread, not the process.
func init() { runtime.LockOSThread() }

func main() {
	command := ""
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	switch {
	case command == turn.ShimCommand && len(os.Args) > 2:
		os.Exit(turn.ShimMain(os.Args[2]))
	case command == netns.Command:
		os.Exit(netns.Main(os.Args[2:]))
	case command == confine.Command:
		os.Exit(confine.Main(os.Args[2:]))
	case command == relay.Command:
		runtime.UnlockOSThread()
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := relay.Main(ctx, os.Args[2:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	case command == "version":
		fmt.Println(version.String())
	default:
		fmt.Fprintln(os.Stderr, "substrat-shim: this program is started by the substrat daemon and by agents; see substrat --help")
		os.Exit(2)
	}
}
