package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"substrat.dev/substrat/internal/version"
)

// Version names this build.
func Version() string { return version.String() }

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Show the version", Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": Version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
			return a.show(v, func() { fmt.Fprintf(a.Out, "substrat %s (%s, %s/%s)\n", v["version"], v["go"], v["os"], v["arch"]) })
		}}
}
