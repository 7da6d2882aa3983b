package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"substrat.dev/substrat/client"
	"substrat.dev/substrat/internal/config"
	"substrat.dev/substrat/internal/daemon"
	"substrat.dev/substrat/internal/remote"
)

// startFlags are what daemon run and daemon start take alike.
type startFlags struct {
	slots int
	api   config.API
}

func daemonFlags(cmd *cobra.Command) *startFlags {
	f := &startFlags{}
	cmd.Flags().IntVar(&f.slots, "slots", 0, "how many provider processes may run at once (default what substrat.toml says, else 4)")
	cmd.Flags().StringVar(&f.api.Listen, "listen", "", "serve the API over TCP too, on an `address` with a port; requests need the token of: substrat daemon token")
	cmd.Flags().StringVar(&f.api.TLSCert, "tls-cert", "", "a `file` with the certificate in PEM, for --listen")
	cmd.Flags().StringVar(&f.api.TLSKey, "tls-key", "", "a `file` with its key")
	return f
}

// check refuses what would end the daemon that is started, and makes its paths absolute.
func (f *startFlags) check() error {
	if (f.api.TLSCert == "") != (f.api.TLSKey == "") {
		return usageError{errors.New("--tls-cert and --tls-key go together")}
	}
	if f.api.Listen != "" {
		if err := remote.CheckAddress(f.api.Listen); err != nil {
			return err
		}
	}
	for _, path := range []*string{&f.api.TLSCert, &f.api.TLSKey} {
		abs, err := absolute(*path)
		if err != nil {
			return err
		}
		*path = abs
	}
	return nil
}

// args are the flags for the process that daemon start starts.
func (f *startFlags) args() []string {
	out := []string{"--slots", fmt.Sprint(f.slots)}
	for _, x := range []struct{ name, value string }{{"--listen", f.api.Listen}, {"--tls-cert", f.api.TLSCert}, {"--tls-key", f.api.TLSKey}} {
		if x.value != "" {
			out = append(out, x.name+"="+x.value)
		}
	}
	return out
}

// listening tells where the API is besides the socket.
func listening(s client.Status) string {
	if s.URL == "" {
		return ""
	}
	return ", " + s.URL
}

func (a *app) daemonToken() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Show the token for the API over TCP", Args: exactly(0),
		Long: `Show the token for the API over TCP, which is made if there is none. Whoever has it may do all that you may: it is in the
file token of the daemon's home, which only you can read. With --rotate it is replaced; a daemon that runs takes the new
one at once, and ends what was begun with the old one.`,
		Example: `  substrat daemon start --listen 127.0.0.1:7777
  curl -H "Authorization: Bearer $(substrat daemon token)" http://127.0.0.1:7777/v1/status`,
	}
	rotate := cmd.Flags().Bool("rotate", false, "replace it by a new one")
	cmd.RunE = func(*cobra.Command, []string) error {
		home, err := a.home()
		if err != nil {
			return err
		}
		if err := makeHome(home); err != nil {
			return err
		}
		get := remote.Token
		if *rotate {
			get = remote.Rotate
		}
		token, err := get(daemon.TokenPath(home))
		if err != nil {
			return err
		}
		return a.show(map[string]string{"token": token}, func() { fmt.Fprintln(a.Out, token) })
	}
	return cmd
}
