package relay

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

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
	for i, a := range args {
		if id, ok := strings.CutPrefix(a, "--agent-id="); ok {
			o.AgentID = id
		} else if a == "--agent-id" && i+1 < len(args) {
			o.AgentID = args[i+1]
		}
	}
	if err := Run(ctx, o); err != nil {
		fmt.Fprintln(stderr, "substrat:", err)
		return 1
	}
	return 0
}
