// Package version says which build this is. Programs that work together compare it: a daemon uses the small program beside it only if
// both come from the same build. It imports nothing but the standard library.
package version

import (
	"runtime/debug"
)

// linked is set by the linker.
var linked string

// String is the version of this build: what the linker was told, else what the build has recorded, else "dev".
func String() string {
	if linked != "" {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) > 12 {
			return s.Value[:12]
		}
	}
	return "dev"
}
