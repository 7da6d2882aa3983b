package turn

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// leftBehind are shims that this process started and whose handles were closed while they lived. They end some day;
// sweepChildren then takes them, so that they do not stay zombies.
var leftBehind struct {
	sync.Mutex
	pids []int
}

func leaveChild(pid int) {
	leftBehind.Lock()
	defer leftBehind.Unlock()
	leftBehind.pids = append(leftBehind.pids, pid)
}

func sweepChildren() {
	leftBehind.Lock()
	defer leftBehind.Unlock()
	alive := leftBehind.pids[:0]
	for _, pid := range leftBehind.pids {
		if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err == nil && got == 0 {
			alive = append(alive, pid)
		}
	}
	leftBehind.pids = alive
}

// waitChild takes a shim that is ending.
func waitChild(pid int) error {
	for {
		_, err := unix.Wait4(pid, nil, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot wait for the shim: %w", err)
		}
		return nil
	}
}
