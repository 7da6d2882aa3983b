package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
)

func (a *app) agentCommand() *cobra.Command {
	return group("agent", "Create, list, look at, steer and end agents", a.agentCreate(), a.agentList(), a.agentInspect(), a.agentStop(), a.agentSuspend(), a.agentRemove(),
		a.agentSet(), a.agentGate(), a.agentUngate(), a.agentPermit(), a.agentPoke())
}

func (a *app) agentCreate() *cobra.Command {
	var n substrat.NewAgent
	var role, sandbox, network, instructions string
	var command []string
	var wall, silence time.Duration
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create an agent", Args: exactly(1),
		Long: `Create an agent: a root of a new team, or with --parent a member of one. No process is started before its first message.

Without --dir a root gets an empty directory of its own, and a child works in its parent's. Every turn runs in a
bubblewrap sandbox. --sandbox landlock is for hosts where bubblewrap cannot run and is no full wall (substrat doctor tells what it
holds there); --sandbox none runs it as a plain process with all of your rights. Every listing shows either.`,
		Example: `  substrat agent create lead --dir ~/src/project --role manager
  substrat agent create coder --parent lead --instructions "You mend code and run the tests."
  substrat agent create critic --parent lead --role reviewer --instructions @critic.md
  substrat agent create pipe --provider scripted --command ./pipeline.py`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			n.Name, n.Role, n.Sandbox = args[0], substrat.Role(role), substrat.Sandbox(sandbox)
			n.Network = substrat.Network(network)
			if n.Dir, err = absolute(n.Dir); err != nil {
				return err
			}
			if n.Instructions, err = textOrFile(instructions); err != nil {
				return err
			}
			if n.Command, err = commandWords(command); err != nil {
				return err
			}
			if wall > 0 || silence > 0 {
				n.Limits = &substrat.TurnLimits{WallSeconds: seconds(wall), SilenceSeconds: seconds(silence)}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			created, err := c.CreateAgent(cmd.Context(), n)
			if err != nil {
				return err
			}
			return a.show(created, func() {
				fmt.Fprintf(a.Out, "created %s: provider %s, sandbox %s, net %s\n", created.Path, created.Provider, boxed(created), netted(created))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&n.Provider, "provider", "", "what runs it: sim, cursor, scripted (default the parent's; sim for a root)")
	f.StringArrayVar(&command, "command", nil, "with --provider scripted: the program and its arguments, quoted or one by one")
	f.StringVar(&n.Parent, "parent", "", "the agent it is under")
	f.StringVar(&n.Dir, "dir", "", "the directory it works in")
	f.StringVar(&n.Workspace, "workspace", "", "the workspace it lives in, instead of --dir")
	f.BoolVar(&n.Worktree, "worktree", false, "a git worktree of its own, of the repository that --dir, or its parent, is in")
	f.StringVar(&n.Branch, "branch", "", "the worktree's branch (default substrat/NAME)")
	f.BoolVar(&n.Gated, "gated", false, "with its gate down")
	f.StringVar(&role, "role", "", "worker (default), reviewer (read-only workspace) or manager")
	f.StringVar(&instructions, "instructions", "", "standing instructions, or @FILE to read them from")
	f.StringVar(&n.Model, "model", "", "the model its provider is to use")
	f.StringVar(&sandbox, "sandbox", "", "bwrap (default), landlock or none")
	f.StringVar(&network, "network", "", "none, door (named hosts only) or host (default door where the provider needs a network)")
	f.DurationVar(&wall, "wall", 0, "the longest a turn may take (default 2h)")
	f.DurationVar(&silence, "silence", 0, "the longest a turn may print nothing (default 30m)")
	return cmd
}

// seconds rounds up, so that a small limit does not become none.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// textOrFile reads an argument that is a text, or @ and the name of a file that holds it.
func textOrFile(arg string) (string, error) {
	path, ok := strings.CutPrefix(arg, "@")
	if !ok {
		return arg, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot read the instructions: %v", err)
	}
	return string(data), nil
}

func (a *app) agentList() *cobra.Command {
	cmd := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List the agents", Args: exactly(0),
		Long: "List the agents with what they do, how many messages wait for them and how they are contained. NONE under SANDBOX and\nHOST under NET are in capitals because they are no walls."}
	all := cmd.Flags().Bool("all", false, "also those that have ended")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		list, err := c.Agents(cmd.Context(), *all)
		if err != nil {
			return err
		}
		if list == nil {
			list = []substrat.Agent{}
		}
		return a.show(list, func() { a.agentTable(list) })
	}
	return cmd
}

func (a *app) agentTable(list []substrat.Agent) {
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "no agents: substrat agent create NAME makes one")
		return
	}
	rows := [][]string{{"AGENT", "STATE", "PROVIDER", "ROLE", "MAIL", "TURNS", "SANDBOX", "NET"}}
	for _, x := range list {
		state := string(x.State)
		if len(x.WaitingFor) > 0 && x.State == substrat.Waiting {
			state += " for " + x.WaitingFor[0]
		}
		rows = append(rows, []string{x.Path, oneLine(state, 30), x.Provider, string(x.Role), fmt.Sprint(x.Pending), fmt.Sprint(x.Turns), boxed(x), netted(x)})
	}
	a.table(rows)
}

func (a *app) agentInspect() *cobra.Command {
	return &cobra.Command{Use: "inspect PATH", Short: "Show an agent with its recent turns and its mailbox", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			i, err := c.Inspect(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(i, func() {
				a.agentDetails(i.Agent)
				a.recentTurns(i.RecentTurns)
				if len(i.Mailbox) > 0 {
					fmt.Fprintln(a.Out, "\nmailbox:")
					a.messageTable(i.Mailbox)
				}
			})
		}}
}

func (a *app) agentDetails(x substrat.Agent) {
	rows := [][]string{
		{"agent", x.Path}, {"id", x.ID}, {"state", string(x.State)}, {"provider", x.Provider + " " + x.Model}, {"role", string(x.Role)},
		{"sandbox", boxed(x)}, {"net", netted(x)}, {"workspace", x.Dir}, {"session", x.Session}, {"created", age(x.CreatedAt) + " ago"},
	}
	if len(x.Command) > 0 {
		rows = append(rows, []string{"command", strings.Join(x.Command, " ")})
	}
	if len(x.WaitingFor) > 0 {
		rows = append(rows, []string{"waits for", strings.Join(x.WaitingFor, ", ")})
	}
	if x.RetryAt != nil {
		rows = append(rows, []string{"next attempt", x.RetryAt.Local().Format(time.TimeOnly)})
	}
	if x.LastError != "" {
		rows = append(rows, []string{"last error", oneLine(x.LastError, 300)})
	}
	a.table(rows)
}

func (a *app) recentTurns(turns []substrat.Turn) {
	if len(turns) == 0 {
		return
	}
	fmt.Fprintln(a.Out, "\nturns:")
	rows := [][]string{{"#", "OUTCOME", "TOOK", "TOOLS", "TEXT"}}
	for _, t := range turns {
		outcome, took := "running", age(t.StartedAt)
		if t.EndedAt != nil {
			outcome, took = string(t.Outcome), t.EndedAt.Sub(t.StartedAt).Round(time.Millisecond).String()
		}
		text := t.Text
		if t.Class != "" {
			text = string(t.Class) + ": " + t.Detail
		}
		rows = append(rows, []string{fmt.Sprint(t.Number), outcome, took, fmt.Sprint(t.ToolCalls), oneLine(text, 60)})
	}
	a.table(rows)
}

func (a *app) agentStop() *cobra.Command {
	return &cobra.Command{Use: "stop PATH", Short: "Cancel the turn that an agent is in", Args: exactly(1),
		Long: "Cancel the turn that an agent is in: politely, then with SIGTERM, then with SIGKILL. The messages of that turn are given\nup; the agent stays.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			t, err := c.StopTurn(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(t, func() { fmt.Fprintf(a.Out, "stopping turn %d of %s\n", t.Number, t.Agent) })
		}}
}

func (a *app) agentRemove() *cobra.Command {
	cmd := &cobra.Command{Use: "rm PATH", Short: "End an agent and everything under it", Args: exactly(1),
		Long: "End an agent and everything under it, at once. Turns that run are cancelled, mail is answered with an error. Its directory\nis left alone, and so is its history."}
	reason := cmd.Flags().String("reason", "", "what to tell those who wait for it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		x, err := c.Agent(cmd.Context(), args[0])
		if err == nil && x.State == substrat.Terminated {
			err = substrat.Errorf(substrat.CodeTerminated, "%s has ended already", x.Path)
		}
		if err == nil {
			err = c.Terminate(cmd.Context(), x.ID, *reason)
		}
		if err != nil {
			return err
		}
		return a.show(map[string]string{"status": "terminated", "id": x.ID, "path": x.Path}, func() { fmt.Fprintf(a.Out, "ended %s\n", x.Path) })
	}
	return cmd
}

var errNoText = usageError{errors.New("there is no text to send")}
