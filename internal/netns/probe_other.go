//go:build !linux

package netns

import "errors"

// Probe says that there are no network namespaces here.
func Probe() error { return errors.New("network namespaces need Linux") }
