package engine

import (
	"testing"

	"substrat.dev/substrat"
)

// Whatever a script did to the environment, a turn finds its own programs and its own things.
func TestCapturedKeepsWhatTurnsNeed(t *testing.T) {
	for path, want := range map[string]string{
		"/v/bin:" + insideBin + ":/usr/bin": "/v/bin:/our/bin:/usr/bin",
		"/usr/bin":                          "/our/bin:/usr/bin",
	} {
		set, unset, _ := captured(t.TempDir(), "/our/bin", &substrat.WorkspaceEnv{
			Set: map[string]string{"PATH": path, "HOME": "/x", "SUBSTRAT_SOCKET": "/x", "A": "b"}, Unset: []string{"PATH", "HOME", "LANG", "SUBSTRAT_TOKEN_FILE"},
		})
		if set["PATH"] != want || set["A"] != "b" || len(set) != 2 {
			t.Errorf("%s: set %v", path, set)
		}
		if len(unset) != 1 || unset[0] != "LANG" {
			t.Errorf("unset %v", unset)
		}
	}
}
