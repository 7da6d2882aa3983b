package turn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// newLock creates dir/lock, which must not exist, holding the turn's id, and takes it. The lock belongs to the open file: the
// shim inherits it, so there is no moment at which a started turn looks dead.
func newLock(dir, id string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the turn: %w", err)
	}
	if _, err = f.WriteString(id); err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot lock the turn: %w", err)
	}
	return f, nil
}

// lockHeld says whether a shim lives. It asks with a shared lock, so that several may ask at once.
func lockHeld(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return false, fmt.Errorf("cannot look at the turn: %w", err)
	}
	defer f.Close()
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		switch {
		case err == nil:
			return false, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return true, nil
		case !errors.Is(err, unix.EINTR):
			return false, fmt.Errorf("cannot look at the turn: %w", err)
		}
	}
}
