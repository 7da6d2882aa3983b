package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the command line as a person types it, against a daemon of its own.
func TestScripts(t *testing.T) {
	needSandbox(t)
	bin := binary(t, "")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			// A home of a script's depth would do, but not on every system: the socket's path is short this way.
			home, err := os.MkdirTemp("", "sub-script-")
			if err != nil {
				return err
			}
			env.Setenv("SUBSTRAT_HOME", filepath.Join(home, "h"))
			env.Setenv("PATH", filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
			examples, err := filepath.Abs("../../examples")
			if err != nil {
				return err
			}
			env.Setenv("EXAMPLES", examples)
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Defer(func() {
				stop := exec.Command(bin, "daemon", "stop", "--cancel")
				stop.Env = append(os.Environ(), "SUBSTRAT_HOME="+filepath.Join(home, "h"))
				_ = stop.Run()
				_ = os.RemoveAll(home)
			})
			if err := os.MkdirAll(filepath.Join(home, "bin"), 0o700); err != nil {
				return err
			}
			return os.Symlink(bin, filepath.Join(home, "bin", "substrat"))
		},
	})
}
