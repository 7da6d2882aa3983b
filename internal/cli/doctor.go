package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"substrat.dev/substrat/internal/daemon"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Look at what turns need on this machine, and say how to get what is missing", Args: exactly(0),
		Long: "Look at what turns need on this machine, and say how to get what is missing. It needs no daemon and changes nothing.\nExit code 1 if turns cannot run in a sandbox.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			findings, ok := daemon.Doctor(cmd.Context(), home), true
			for _, f := range findings {
				ok = ok && (f.OK || !f.Required)
			}
			err = a.show(map[string]any{"ok": ok, "findings": findings}, func() {
				for _, f := range findings {
					a.finding(f)
				}
				switch {
				case ok:
					fmt.Fprintln(a.Out, "\nTurns can run here.")
				case daemon.HeldByLandlock():
					fmt.Fprintln(a.Out, "\nTurns cannot run in bubblewrap here. With --sandbox landlock --network none (or host) they are held by Landlock alone: what that\nleaves open stands above. With --sandbox none they run as plain processes with all of your rights.")
				default:
					fmt.Fprintln(a.Out, "\nTurns cannot run in a sandbox here. With --sandbox none they run as plain processes with all of your rights.")
				}
			})
			if err == nil && !ok {
				err = failed{errors.New("turns cannot run")}
			}
			return err
		}}
}

func (a *app) finding(f daemon.Finding) {
	mark := "ok  "
	switch {
	case f.OK:
	case f.Required:
		mark = "FAIL"
	default:
		mark = "note"
	}
	fmt.Fprintf(a.Out, "%s  %s: %s\n", mark, f.Name, printable(f.Detail))
	if !f.OK && f.Remedy != "" {
		fmt.Fprintf(a.Out, "      → %s\n", printable(f.Remedy))
	}
}
