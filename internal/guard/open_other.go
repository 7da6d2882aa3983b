//go:build !linux

package guard

import (
	"errors"
	"os"
)

// openBelow has no such call here.
func openBelow(*os.File, string) (*os.File, error) { return nil, errors.ErrUnsupported }
