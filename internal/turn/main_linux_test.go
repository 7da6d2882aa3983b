package turn

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The main goroutine stays on the main thread, as cmd/substrat does it.
func init() { runtime.LockOSThread() }

// The test binary is the shim, the agent and a daemon too.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case ShimCommand:
			churnIfAsked(os.Args[2])
			exitNow(ShimMain(os.Args[2]))
		case "agent":
			agent(os.Args[2])
			exitNow(0)
		case "daemon":
			daemon(os.Args[2], os.Args[3])
		}
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const (
	initLine   = `{"type":"system"}` + "\n"
	resultLine = `{"type":"result"}` + "\n"
)

// agent stands in for a headless agent. After its mode it prints a result.
func agent(mode string) {
	mode, arg, _ := strings.Cut(mode, ":")
	n, _ := strconv.Atoi(arg)
	fmt.Print(initLine)
	switch mode {
	case "exit":
		exitNow(n)
	case "flood":
		fill(os.Stdout, n, "{\"type\":\"thinking\",\"text\":\"", "\"}\n")
	case "bigline":
		fmt.Print(`{"x":"`)
		fill(os.Stdout, n, "", "")
		fmt.Print("\"}\n")
	case "stderr":
		fill(os.Stderr, n, "", "")
		fmt.Fprint(os.Stderr, "the last words")
	case "partial":
		fmt.Print(`{"type":"assis`)
		exitNow(0)
	case "hang":
		hang()
	case "stubborn":
		signal.Ignore(unix.SIGINT, unix.SIGTERM)
		fmt.Print("ready\n")
		hang()
	case "interruptible":
		c := make(chan os.Signal, 1)
		signal.Notify(c, unix.SIGINT)
		fmt.Print("ready\n")
		<-c
		fmt.Print("interrupted\n")
		exitNow(3)
	case "terminable":
		signal.Ignore(unix.SIGINT)
		c := make(chan os.Signal, 1)
		signal.Notify(c, unix.SIGTERM)
		fmt.Print("ready\n")
		<-c
		fmt.Print("terminated\n")
		exitNow(4)
	case "forktree":
		for range 3 {
			orphan(nil)
		}
	case "forkhang":
		for range 3 {
			orphan(nil)
		}
		fmt.Print("ready\n")
		hang()
	case "keepout":
		orphan(os.Stdout)
	case "closeall":
		for fd := range 3 {
			unix.Close(fd)
		}
		time.Sleep(time.Duration(n) * time.Millisecond)
		exitNow(5)
	case "echo":
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(nil, 64<<20)
		for in.Scan() {
			fmt.Printf("got %d %.20s\n", len(in.Text()), in.Text())
		}
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "pwd":
		wd, _ := os.Getwd()
		fmt.Println(wd)
	}
	fmt.Print(resultLine)
	if mode == "linger" {
		hang()
	}
}

func hang() { time.Sleep(time.Hour) }

func fill(f *os.File, mb int, before, after string) {
	w := bufio.NewWriterSize(f, 1<<16)
	line := before + strings.Repeat("x", 1000) + after
	for range mb * 1000 {
		_, _ = w.WriteString(line)
	}
	w.Flush()
}

// orphan starts a process in a session of its own that ignores everything but SIGKILL.
func orphan(out *os.File) {
	cmd := exec.Command("/bin/sh", "-c", "trap '' INT TERM HUP; echo; while :; do sleep 100; done")
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	cmd.Stdout = out
	if out == nil {
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		cmd.Stdout = w
		defer func() { _, _ = r.Read(make([]byte, 1)) }() // its traps are set
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// daemon starts a turn, says so, and waits to be killed.
func daemon(dir, mode string) {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	var sandboxed bool
	mode, sandboxed = strings.CutPrefix(mode, "sandboxed/")
	r := rig{sandboxed: sandboxed}
	spec := Spec{ID: filepath.Base(filepath.Dir(dir)), Argv: r.argv(exe, "agent", mode), Env: os.Environ(), KeepStdin: true, Sandboxed: sandboxed}
	if _, err := Start(context.Background(), exe, dir, spec); err != nil {
		fmt.Println("failed:", err)
		exitNow(1)
	}
	fmt.Println("started")
	hang()
}

// exitNow ends the process without the second that the race detector would wait; what it finds, it prints at once.
func exitNow(code int) { _, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(code), 0, 0) }
