package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built holds the binaries under test, built once for all tests.
var built struct {
	dir string
	sync.Mutex
	done map[string]error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "substrat-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir, built.done = dir, map[string]error{}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// binary builds the programs, under the race detector if the tests are, and with build tags if asked.
func binary(t *testing.T, tags string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	path := filepath.Join(built.dir, "with-"+tags, "substrat")
	if err, ok := built.done[tags]; ok {
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := []string{"build", "-o", filepath.Dir(path) + "/", "-tags", tags}
	if raceEnabled {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "substrat.dev/substrat/cmd/substrat", "substrat.dev/substrat/cmd/substrat-shim")...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("cannot build the binary under test: %w\n%s", err, out)
	}
	built.done[tags] = err
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// needSandbox skips where bubblewrap cannot run, and says so.
func needSandbox(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--", "true").CombinedOutput(); err != nil {
		t.Skipf("bubblewrap cannot run here: %v %s", err, out)
	}
}
