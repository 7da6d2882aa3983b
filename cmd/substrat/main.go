// Command substrat runs teams of command-line coding agents. One binary is the command line, the daemon, the shim of a
// turn, the relay that agents start for their tools, and, under the name cursor-agent, the simulator of that program.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"substrat.dev/substrat/internal/cli"
	"substrat.dev/substrat/internal/confine"
	"substrat.dev/substrat/internal/netns"
	"substrat.dev/substrat/internal/shell"
	"substrat.dev/substrat/internal/sim"
	"substrat.dev/substrat/internal/turn"
)

// A shim starts its child from the main thread: a parent-death signal follows the thread, not the process.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) > 2 && os.Args[1] == turn.ShimCommand {
		os.Exit(turn.ShimMain(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == netns.Command {
		os.Exit(netns.Main(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == confine.Command {
		os.Exit(confine.Main(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == shell.Command {
		os.Exit(shell.Foreground(os.Args[2:]))
	}
	runtime.UnlockOSThread()
	switch filepath.Base(os.Args[0]) {
	case "cursor-agent", "agent":
		os.Exit(sim.Main(context.Background(), os.Args, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.Surroundings{Getenv: os.Getenv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
