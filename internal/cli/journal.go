package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"substrat.dev/substrat/internal/daemon"
)

func (a *app) journalCommand() *cobra.Command {
	return group("journal", "Look after the journal", a.journalVerify())
}

func (a *app) journalVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Read the whole journal and name every record that is not what was written", Args: exactly(0),
		Long: `Read the whole journal of the home and name every event and snapshot that is not what was written: each carries a checksum of
all of it, and events are numbered without gaps. It may run beside a daemon, which refuses to start on a damaged journal.
Exit code 1 if there is damage. Checksums show accidents and careless hands; whoever can write the file can also write sums.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			damage := daemon.VerifyJournal(cmd.Context(), home)
			if damage == nil {
				return a.show(map[string]any{"damage": []string{}}, func() { fmt.Fprintln(a.Out, "the journal is what was written") })
			}
			if !a.json {
				return damage
			}
			if err := a.show(map[string]any{"damage": strings.Split(damage.Error(), "\n")}, nil); err != nil {
				return err
			}
			return failed{errors.New("damaged")}
		},
	}
}
