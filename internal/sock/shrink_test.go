package sock

import (
	"syscall"
	"testing"
)

// shrink leaves room for one connection that was not accepted.
func shrink(t *testing.T, raw syscall.RawConn) {
	t.Helper()
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), 0) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}
