package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
)

func (a *app) sandboxCommand() *cobra.Command {
	cmd := group("sandbox", "Look at the sandbox of an agent, and around in it", a.sandboxShow(), a.sandboxShell())
	return cmd
}

func (a *app) sandboxShow() *cobra.Command {
	return &cobra.Command{
		Use: "show PATH", Short: "Show what the sandbox of an agent's next turn would be", Args: exactly(1),
		Long: `Show what the sandbox of an agent's next turn would be: what of this machine it sees and may write, which hosts it may reach, what
bounds its processes and what keeps those bounds, and the names of the variables that are set. Values are never shown.
Every sandbox has the system's programs besides, and a /tmp of its own. substrat.toml widens and narrows it: [profiles.NAME].`,
		Example: "  substrat sandbox show lead/coder\n  substrat sandbox show lead/coder --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			v, err := c.Sandbox(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(v, func() { a.sandboxDetails(v) })
		},
	}
}

func (a *app) sandboxDetails(v substrat.SandboxView) {
	rows := [][]string{
		{"agent", printable(v.Agent)}, {"profiles", orNone(v.Profiles)},
		{"workspace", shownMount(v.Workspace)},
	}
	if v.Dir != v.Workspace.At {
		rows = append(rows, []string{"begins in", printable(v.Dir)})
	}
	rows = append(rows, []string{"home", shownMount(v.Home)})
	for i, m := range v.Mounts {
		rows = append(rows, []string{first(i, "mounts"), shownMount(m)})
	}
	rows = append(rows, networkRows(v)...)
	rows = append(rows, boundRows(v.Bounds)...)
	rows = append(rows, []string{"system calls", either(v.Seccomp, "those that only an escape needs are refused (seccomp)", "NOT FILTERED: this kernel has no seccomp")},
		[]string{"files", landlockText(v)},
		[]string{"sandboxes inside", either(v.Nested, "can be made (nested)", "cannot be made")},
		[]string{"debugging", either(v.Debug, "processes may trace each other", "processes cannot trace each other")},
		[]string{"variables", orNone(v.Variables)})
	if len(v.Keys) > 0 {
		rows = append(rows, []string{"of these, keys", orNone(v.Keys) + " (in turns; in a shell with --with-keys)"})
	}
	for i, n := range v.Notes {
		rows = append(rows, []string{first(i, "notes"), printable(n)})
	}
	a.table(rows)
}

func networkRows(v substrat.SandboxView) [][]string {
	switch v.Network {
	case substrat.NetworkHost:
		return [][]string{{"network", "HOST: all that this machine reaches, and its own services"}}
	case substrat.NetworkDoor:
		other := map[string]string{"ask": "you are asked (in a shell: refused)", "allow": "let through on ports 443 and 80"}[v.Unlisted]
		if other == "" {
			other = "refused"
		}
		return [][]string{{"network", "door: these hosts only"}, {"  let through", orNone(v.Hosts)}, {"  refused", orNone(v.DeniedHosts)}, {"  others", other}}
	}
	return [][]string{{"network", "none"}}
}

func boundRows(b substrat.SandboxBounds) [][]string {
	number := func(n int, unit string) string {
		if n == 0 {
			return "no bound"
		}
		return strconv.Itoa(n) + unit
	}
	return [][]string{
		{"bounds", "kept by " + b.KeptBy}, {"  memory", bound(b.Memory)}, {"  processes", number(b.Processes, "")}, {"  cpu", number(b.CPUPercent, "% of a core")},
		{"  open files", number(b.OpenFiles, " in each process")}, {"  workspace", growth(b.Workspace)}, {"  home", bound(b.Home)}, {"  each of /tmp, /var/tmp", bound(b.Tmp)},
	}
}

func growth(n int64) string {
	if n == 0 {
		return "no bound"
	}
	return "may grow by " + bound(n) + " in a turn"
}

func bound(n int64) string {
	if n == 0 {
		return "no bound"
	}
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	value, i := float64(n), 0
	for value >= 1024 && i < len(units)-1 {
		value, i = value/1024, i+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + units[i]
}

func landlockText(v substrat.SandboxView) string {
	switch {
	case v.Landlock == 0:
		return "held by the mounts alone: this kernel has no Landlock"
	case v.Nested:
		return "held by the mounts; of Landlock " + strconv.Itoa(v.Landlock) + " signals alone, since sandboxes can be made inside"
	}
	return "held by the mounts, and by Landlock " + strconv.Itoa(v.Landlock)
}

func shownMount(m substrat.SandboxMount) string {
	text := "ro  " + printable(m.At)
	if m.Write {
		text = "rw  " + printable(m.At)
	}
	if m.Host != m.At {
		text += "  from " + printable(m.Host)
	}
	return text
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return printable(strings.Join(list, ", "))
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// first names the first row of several.
func first(i int, name string) string {
	if i == 0 {
		return name
	}
	return ""
}
