package relay

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"substrat.dev/substrat/internal/sock"
)

// Command is the command of our programs that an agent CLI starts for its tools: `<exe> mcp`.
const Command = "mcp"

// Main is that command in an agent's turn. Its socket and its token are named by the environment; an --agent-id among the
// arguments is passed on for information. It returns the exit code.
func Main(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	socket := getenv("SUBSTRAT_SOCKET")
	if socket == "" {
		fmt.Fprintln(stderr, "substrat: cannot reach the agent's socket: SUBSTRAT_SOCKET is not set")
		fmt.Fprintln(stderr, "hint: agent CLIs start this; as a person use substrat mcp --as PATH")
		return 2
	}
	o := Options{
		Dial:  func(ctx context.Context) (io.ReadWriteCloser, error) { return sock.Dial(ctx, socket) },
		Token: getenv("SUBSTRAT_TOKEN"), Stdin: stdin, Stdout: stdout,
	}
	if path := getenv("SUBSTRAT_TOKEN_FILE"); path != "" {
		token, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(stderr, "substrat: cannot read the turn's token:", err)
			return 1
		}
		o.Token = string(token)
	}
	server := ""
	for i, a := range args {
		if name, ok := strings.CutPrefix(a, "--serve="); ok {
			server = name
		}
		if id, ok := strings.CutPrefix(a, "--agent-id="); ok {
			o.AgentID = id
		} else if a == "--agent-id" && i+1 < len(args) {
			o.AgentID = args[i+1]
		}
	}
	if server != "" {
		return becomeServer(ctx, o, server, stderr)
	}
	if err := Run(ctx, o); err != nil {
		fmt.Fprintln(stderr, "substrat:", err)
		return 1
	}
	return 0
}

// becomeServer is what an agent CLI starts for a further MCP server: it asks the daemon how that is started, and becomes it.
// So the server's keys are in its own environment and nowhere else.
func becomeServer(ctx context.Context, o Options, server string, stderr io.Writer) int {
	argv, env, err := Launch(ctx, o, server)
	if err != nil {
		fmt.Fprintf(stderr, "substrat: cannot start the MCP server %s: %v\n", server, err)
		return 1
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		fmt.Fprintf(stderr, "substrat: cannot start the MCP server %s: %v\n", server, err)
		return 1
	}
	all := os.Environ()
	for k, v := range env {
		all = append(slices.DeleteFunc(all, func(x string) bool { return strings.HasPrefix(x, k+"=") }), k+"="+v)
	}
	err = syscall.Exec(path, argv, all)
	fmt.Fprintf(stderr, "substrat: cannot start the MCP server %s: %v\n", server, err)
	return 1
}
