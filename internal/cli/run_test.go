package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunExplains: an agent CLI that fails without a word is looked into, and what was found is the reason that is told.
func TestRunExplains(t *testing.T) {
	bin := t.TempDir()
	const script = `#!/bin/sh
case "$*" in
--version) echo 2026.10.01-e373342;;
models) echo "Authentication required. Please run 'agent login' first." >&2; exit 1;;
*) exit 1;;
esac
`
	if err := os.WriteFile(filepath.Join(bin, "cursor-agent"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("CURSOR_AGENT_PATH", "")
	var out, said bytes.Buffer
	args := []string{"run", "--provider", "cursor", "--dir", t.TempDir(), "--quiet", "hello"}
	code := Run(t.Context(), args, Surroundings{In: strings.NewReader(""), Out: &out, Err: &said, Getenv: os.Getenv})
	if code != 1 || !strings.Contains(said.String(), "Authentication required") {
		t.Errorf("%d %s\n%s", code, out.String(), said.String())
	}
}
