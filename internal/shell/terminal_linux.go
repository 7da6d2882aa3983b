package shell

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Terminal reports whether standard input is a terminal that this process may give away: one that it is in the foreground of.
func Terminal() bool {
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// keepTerminal gives what puts the terminal back as it was: whoever had it inside may have left it in any state, or been killed.
func keepTerminal() (restore func()) {
	if !Terminal() {
		return func() {}
	}
	state, err := term.GetState(0)
	return func() {
		// From the background, setting it would stop this process.
		signal.Ignore(unix.SIGTTOU)
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp())
		if err == nil {
			_ = term.Restore(0, state)
		}
		signal.Reset(unix.SIGTTOU)
	}
}

// Foreground is the hidden command. It runs inside the sandbox, takes the terminal for a process group of its own, and becomes the
// program: keys such as Ctrl-C are for the program then, and not for those who hold the sandbox. A shell finds a group that its pid
// namespace knows, which it can give the terminal back to.
func Foreground(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "substrat foreground: this command is started by substrat sandbox shell only")
		return exitRefused
	}
	signal.Ignore(unix.SIGTTOU)
	err := unix.Setpgid(0, 0)
	if err == nil {
		err = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpid())
	}
	signal.Reset(unix.SIGTTOU)
	if err != nil {
		fmt.Fprintln(os.Stderr, "substrat: cannot give the terminal to the command:", err)
		return exitRefused
	}
	if args[0] == Plain {
		signal.Ignore(unix.SIGTSTP)
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "substrat: cannot start %s: %v\n", args[1], err)
		return exitNotFound
	}
	err = unix.Exec(path, args[1:], os.Environ())
	fmt.Fprintf(os.Stderr, "substrat: cannot start %s: %v\n", args[1], err)
	return exitNotExecutable
}

// As env and container runtimes have them.
const (
	exitRefused       = 125
	exitNotExecutable = 126
	exitNotFound      = 127
)
