package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
	"substrat.dev/substrat/internal/daemon"
)

func (a *app) daemonCommand() *cobra.Command {
	return group("daemon", "Start, stop and look at the daemon", a.daemonRun(), a.daemonStart(), a.daemonStop(), a.daemonStatus(), a.daemonToken())
}

func (a *app) daemonRun() *cobra.Command {
	cmd := &cobra.Command{
		Use: "run", Short: "Run the daemon in the foreground", Args: exactly(0),
		Long: "Run the daemon in the foreground, logging to standard error. SIGINT and SIGTERM end it; turns that run go on, and the\nnext daemon takes them over.",
	}
	flags := daemonFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		home, err := a.home()
		if err != nil {
			return err
		}
		if err := flags.check(); err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(a.Err, nil))
		return daemon.Run(cmd.Context(), daemon.Config{Home: home, Version: Version(), Slots: flags.slots, API: flags.api, Log: log})
	}
	return cmd
}

func (a *app) daemonStart() *cobra.Command {
	cmd := &cobra.Command{
		Use: "start", Short: "Start the daemon in the background", Args: exactly(0),
		Long: "Start the daemon in the background and wait until it answers. Its log is daemon.log in its home. When one runs\nalready, that is said and nothing is done.",
	}
	flags := daemonFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		home, err := a.home()
		if err != nil {
			return err
		}
		if err := flags.check(); err != nil {
			return err
		}
		c := client.New(daemon.SocketPath(home))
		if s, err := c.Status(cmd.Context()); err == nil {
			return a.show(s, func() { fmt.Fprintf(a.Out, "running already: pid %d, socket %s%s\n", s.PID, s.Socket, listening(s)) })
		}
		s, err := a.launch(cmd.Context(), c, home, flags.args())
		if err != nil {
			return err
		}
		return a.show(s, func() { fmt.Fprintf(a.Out, "started: pid %d, socket %s%s\n", s.PID, s.Socket, listening(s)) })
	}
	return cmd
}

func makeHome(home string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return substrat.Errorf(substrat.CodeStorage, "cannot make %s: %v", home, err)
	}
	return nil
}

// launch starts the daemon in a session of its own and waits until it answers.
func (a *app) launch(ctx context.Context, c *client.Client, home string, args []string) (client.Status, error) {
	if err := makeHome(home); err != nil {
		return client.Status{}, err
	}
	path := filepath.Join(home, "daemon.log")
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return client.Status{}, substrat.Errorf(substrat.CodeStorage, "cannot open the log: %v", err)
	}
	defer log.Close()
	exe, err := os.Executable()
	if err != nil {
		return client.Status{}, substrat.Errorf(substrat.CodeInternal, "cannot find the substrat binary: %v", err)
	}
	// The daemon outlives this command, so no context ends it.
	proc := exec.Command(exe, append([]string{"daemon", "run"}, args...)...) //nolint:noctx // see above
	proc.Stdout, proc.Stderr = log, log
	proc.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := proc.Start(); err != nil {
		return client.Status{}, substrat.Errorf(substrat.CodeInternal, "cannot start the daemon: %v", err)
	}
	died := make(chan error, 1)
	go func() { died <- proc.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if s, err := c.Status(ctx); err == nil {
			return s, nil
		}
		select {
		case err := <-died:
			return client.Status{}, substrat.Errorf(substrat.CodeInternal, "the daemon ended while starting (%v): %s", err, lastWords(path))
		case <-ctx.Done():
			return client.Status{}, substrat.Errorf(substrat.CodeTimeout, "the daemon does not answer").WithHint("look at %s", path)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// lastWords is the end of a log, where the reason stands, with what to do about it.
func lastWords(path string) string {
	data, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	last := len(lines) - 1
	if last > 0 && strings.HasPrefix(lines[last], "hint: ") {
		return strings.TrimPrefix(lines[last-1], "substrat: ") + "\n" + lines[last]
	}
	return strings.TrimPrefix(lines[last], "substrat: ")
}

func (a *app) daemonStop() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stop", Short: "Stop the daemon", Args: exactly(0),
		Long: "Stop the daemon and wait until it is gone. Turns that run go on under their shims, and the next daemon takes them over,\nunless --drain waits for them first or --cancel ends them.",
	}
	drain := cmd.Flags().Bool("drain", false, "start no new turns, and wait for those that run")
	cancel := cmd.Flags().Bool("cancel", false, "cancel the turns that run")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *drain && *cancel {
			return usageError{errors.New("--drain and --cancel exclude each other")}
		}
		mode := map[bool]string{true: "drain"}[*drain] + map[bool]string{true: "cancel"}[*cancel]
		if mode == "" {
			mode = "leave"
		}
		return a.stop(cmd.Context(), mode)
	}
	return cmd
}

// stop asks for a shutdown and waits until the daemon's process is gone.
func (a *app) stop(ctx context.Context, mode string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if err := c.Shutdown(ctx, mode); err != nil {
		return err
	}
	if mode == "drain" && s.Turns > 0 && !a.json {
		fmt.Fprintf(a.Out, "waiting for %d turns\n", s.Turns)
	}
	for a.alive(ctx, c, s.PID) {
		select {
		case <-ctx.Done():
			return substrat.Errorf(substrat.CodeTimeout, "gave up waiting for the daemon to stop; it goes on stopping")
		case <-time.After(10 * time.Millisecond):
		}
	}
	return a.show(map[string]any{"running": false, "pid": s.PID}, func() { fmt.Fprintln(a.Out, "stopped") })
}

// alive reports whether a daemon still runs. One on another machine is asked.
func (a *app) alive(ctx context.Context, c *client.Client, pid int) bool {
	if a.Getenv("SUBSTRAT_URL") == "" {
		return syscall.Kill(pid, 0) == nil
	}
	_, err := c.Status(ctx)
	return substrat.CodeOf(err) != substrat.CodeUnavailable
}

func (a *app) daemonStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show whether the daemon runs, and what it is doing", Args: exactly(0),
		Long: "Show whether the daemon runs, and what it is doing. Exit code 3 if it does not run; with --json that is an answer like\nany other, {\"running\":false}.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			s, err := c.Status(cmd.Context())
			if err != nil && a.json && substrat.CodeOf(err) == substrat.CodeUnavailable {
				home, _ := a.home()
				return a.show(client.Status{Socket: daemon.SocketPath(home), Version: Version()}, nil)
			}
			if err != nil {
				return err
			}
			return a.show(s, func() {
				fmt.Fprintf(a.Out, "running: pid %d, version %s, up %s\nsocket %s%s\n%d agents in %d teams, %d of %d slots in use, %d events\n",
					s.PID, s.Version, age(s.StartedAt), s.Socket, listening(s), s.Agents, s.Teams, s.Turns, s.Slots, s.Seq)
				if s.Draining {
					fmt.Fprintln(a.Out, "draining: no new turns start")
				}
			})
		},
	}
}
