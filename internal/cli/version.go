package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version string

// Version names this build: what the linker was told, else the commit it was built from.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return "dev"
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Show the version", Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": Version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
			return a.show(v, func() { fmt.Fprintf(a.Out, "substrat %s (%s, %s/%s)\n", v["version"], v["go"], v["os"], v["arch"]) })
		}}
}
