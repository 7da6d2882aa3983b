package cli

import (
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/relay"
)

// asOperator reports whether a command line of mcp is a person's, not an agent's.
func asOperator(args []string) bool {
	for _, a := range args {
		if a == "--as" || strings.HasPrefix(a, "--as=") || a == "--help" || a == "-h" {
			return true
		}
	}
	return false
}

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "Speak the agents' tools over MCP on standard input and output", Args: exactly(0),
		Long: `Speak the agents' tools over MCP on standard input and output. Agent CLIs start it themselves, with SUBSTRAT_SOCKET set to
their own socket. With --as a person speaks as an agent over the control socket, for looking into things with any MCP
client; the journal shows that it was the operator.`,
		Example: `  npx @modelcontextprotocol/inspector --cli substrat mcp --as lead --method tools/list`}
	as := cmd.Flags().String("as", "", "the agent to speak as")
	cmd.Flags().String("agent-id", "", "the agent's id; information only, identity is the socket")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		x, err := c.Agent(cmd.Context(), *as)
		if err != nil {
			return err
		}
		if x.State == substrat.Terminated {
			return substrat.Errorf(substrat.CodeTerminated, "%s has ended", x.Path)
		}
		path := "/v1/agents/" + url.PathEscape(x.ID) + "/mcp"
		return relay.Run(cmd.Context(), relay.Options{Dial: relay.DialUpgrade(c.Dial, path), Stdin: a.In, Stdout: a.raw})
	}
	return cmd
}
