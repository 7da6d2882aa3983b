//go:build failpoint

package sqlite

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// SUBSTRAT_FAILPOINT=journal:N makes the Nth passage through a failpoint of this package end the process as kill -9
// does. There are two in each write transaction: before the commit, and after it, before the caller learns of it.
var failAt = parseFailpoint(os.Getenv("SUBSTRAT_FAILPOINT"))

var failpointHits atomic.Int64

func parseFailpoint(s string) int64 {
	n, _ := strconv.ParseInt(strings.TrimPrefix(s, "journal:"), 10, 64)
	return n
}

func failpoint() {
	if failAt > 0 && failpointHits.Add(1) == failAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}
