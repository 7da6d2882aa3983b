//go:build linux && !amd64 && !arm64

package confine

import (
	"errors"
	"runtime"
)

// SeccompAvailable is false: there is no table of system calls for this processor.
func SeccompAvailable() bool { return false }

func filterCalls(Plan) error {
	return errors.New("there is no table of system calls for " + runtime.GOARCH)
}
