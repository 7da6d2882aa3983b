package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/providers"
)

// provided is one provider as providers shows it.
type provided struct {
	agentcli.Info
	agentcli.Status
}

func (a *app) providersCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "providers [NAME]", Short: "List the agent CLIs: what is installed, who is logged in, what is missing", Args: atMost(1),
		Long: "List the agent CLIs that Substrat can drive: what is installed in which version, whether it has a login, its models, and how to get\nwhat is missing. It asks the installed programs; it needs no daemon and changes nothing.",
		RunE: func(cmd *cobra.Command, args []string) error {
			all := providers.All(a.Getenv, "cursor-agent")
			if len(args) == 1 {
				p, err := providers.Find(all, args[0])
				if err != nil {
					return err
				}
				all = []agentcli.Provider{p}
			}
			found := probeAll(cmd.Context(), all)
			return a.show(found, func() {
				if len(args) == 1 {
					a.provider(found[0])
					return
				}
				rows := [][]string{{"NAME", "INSTALLED", "LOGIN", "CAN", "WHAT"}}
				for _, x := range found {
					rows = append(rows, []string{x.Name, installedAs(x), loginOf(x), strings.Join(abilities(x.Info), " "), x.Title})
				}
				a.table(rows)
				for _, x := range found {
					if x.Installed && x.Problem != "" {
						fmt.Fprintf(a.Out, "\n%s: %s\n", x.Name, printable(x.Problem))
						a.remedy(x)
					}
				}
				fmt.Fprintln(a.Out, "\nsubstrat providers NAME tells more of one: how to get it, where it is, its models.")
			})
		}}
	return cmd
}

// probeAll asks all at once: a program may take its time to say its version.
func probeAll(ctx context.Context, all []agentcli.Provider) []provided {
	out := make([]provided, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		out[i].Info = p.Info()
		prober, ok := p.(agentcli.Prober)
		if !ok {
			out[i].Status = agentcli.Status{Installed: true, Version: "built in"}
			continue
		}
		wg.Go(func() { out[i].Status = prober.Probe(ctx) })
	}
	wg.Wait()
	return out
}

// provider shows all that is known of one.
func (a *app) provider(x provided) {
	rows := [][]string{{"name", x.Name}, {"what", x.Title}, {"installed", installedAs(x)}}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, printable(value)})
		}
	}
	add("path", x.Path)
	add("login", loginOf(x))
	add("account", x.Account)
	add("can", strings.Join(abilities(x.Info), ", "))
	var models []string
	for _, m := range x.Models {
		models = append(models, m.ID)
	}
	add("models", strings.Join(models, ", "))
	add("problem", x.Problem)
	a.table(rows)
	a.remedy(x)
}

func (a *app) remedy(x provided) {
	if x.Remedy != "" {
		fmt.Fprintln(a.Out, "→", printable(x.Remedy))
	}
}

func installedAs(x provided) string {
	switch {
	case !x.Installed:
		return "no"
	case x.Version == "":
		return "yes"
	}
	return printable(x.Version)
}

func loginOf(x provided) string {
	if !x.Installed || x.Login == agentcli.LoginUnknown {
		return "-"
	}
	return string(x.Login)
}

// abilities are what a provider can do.
func abilities(i agentcli.Info) []string {
	var out []string
	for _, x := range []struct {
		can  bool
		name string
	}{{i.Resume, "resume"}, {i.MCP, "mcp"}, {i.Live, "live"}, {i.Asks, "asks"}, {i.NeedsProgram, "any-command"}} {
		if x.can {
			out = append(out, x.name)
		}
	}
	return out
}
