package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"substrat.dev/substrat"
)

// prepareHome makes the daemon's directory, and refuses one that others could write to or that is not ours.
func prepareHome(home string) error {
	for _, dir := range []string{home, filepath.Join(home, "agents"), filepath.Join(home, "turns"), filepath.Join(home, "bin")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return substrat.Errorf(substrat.CodeStorage, "cannot make %s: %v", dir, err)
		}
	}
	st, err := os.Stat(home)
	if err != nil {
		return substrat.Errorf(substrat.CodeStorage, "cannot look at %s: %v", home, err)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return substrat.Errorf(substrat.CodeForbidden, "cannot use %s: it belongs to user %d", home, sys.Uid).
			WithHint("set SUBSTRAT_HOME to a directory of your own")
	}
	if st.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(home, 0o700); err != nil {
			return substrat.Errorf(substrat.CodeStorage, "cannot close %s to others: %v", home, err)
		}
	}
	return nil
}

// lock is the right to be the daemon of a home. The kernel lets go of it with the process, however that ends; the file
// stays and means nothing by itself.
type lock struct{ f *os.File }

// lockPatience is how long a lock that is held is asked for again. A daemon that was killed while it started a process
// leaves a copy of the lock in the child, until that has become another program.
const lockPatience = 500 * time.Millisecond

func takeLock(home string) (*lock, error) {
	path := filepath.Join(home, "daemon.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeStorage, "cannot open %s: %v", path, err)
	}
	for began := time.Now(); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if errors.Is(err, syscall.EWOULDBLOCK) && time.Since(began) < lockPatience {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, substrat.Errorf(substrat.CodeConflict, "cannot start: a daemon for %s is running", home).
				WithHint("substrat daemon status; or set SUBSTRAT_HOME for a second one")
		}
		return nil, substrat.Errorf(substrat.CodeStorage, "cannot lock %s: %v", path, err).WithHint("the home must be on a local file system")
	}
	return &lock{f}, nil
}

func (l *lock) release() { _ = l.f.Close() }

// placeBinaries finds our own programs and links them into the home's bin directory, where agents without a sandbox find them.
func placeBinaries(ctx context.Context, home, version string, log *slog.Logger) (exe, shim string, err error) {
	exe, err = os.Executable()
	if err != nil {
		return "", "", substrat.Errorf(substrat.CodeInternal, "cannot find the substrat binary: %v", err)
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	if shim, err = findShim(ctx, exe, version); err != nil {
		log.Warn("turns start slower: the small program is not used", "error", err)
		shim = exe
	}
	for name, target := range map[string]string{"substrat": exe, "cursor-agent": exe, ShimName: shim} {
		link := filepath.Join(home, "bin", name)
		if at, err := os.Readlink(link); err == nil && at == target {
			continue
		}
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", "", substrat.Errorf(substrat.CodeStorage, "cannot replace %s: %v", link, err)
		}
		if err := os.Symlink(target, link); err != nil {
			return "", "", substrat.Errorf(substrat.CodeStorage, "cannot link %s: %v", link, err)
		}
	}
	return exe, shim, nil
}

// ShimName is the small program that lies beside the substrat binary.
const ShimName = "substrat-shim"

// findShim gives the small program, if it is of the same build: what it and the daemon say to each other may differ between two.
func findShim(ctx context.Context, exe, version string) (string, error) {
	path := filepath.Join(filepath.Dir(exe), ShimName)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if got := strings.TrimSpace(string(out)); got != version {
		return "", fmt.Errorf("%s is of version %s, this is %s", path, got, version)
	}
	return path, nil
}
