package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
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
	// They wait for daemons more than they compute.
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n != nil && n.Value.String() == n.DefValue {
		_ = n.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0)))
	}
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
	err := build(filepath.Dir(path), tags, "substrat", raceEnabled)
	if err == nil {
		// The small program is started several times for a turn, and one under the race detector takes ten times as long to be up. What
		// it does at once with itself is tested under the detector in its packages.
		err = build(filepath.Dir(path), tags, "substrat-shim", false)
	}
	built.done[tags] = err
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func build(dir, tags, name string, race bool) error {
	cmd := exec.Command("go", "build", "-o", dir+"/", "-tags", tags)
	if race {
		cmd.Args = append(cmd.Args, "-race")
	} else {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	cmd.Args = append(cmd.Args, "substrat.dev/substrat/cmd/"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", name, err, out)
	}
	return nil
}

// needSandbox skips where bubblewrap cannot run, and says so.
func needSandbox(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--", "true").CombinedOutput(); err != nil {
		t.Skipf("bubblewrap cannot run here: %v %s", err, out)
	}
}
