//go:build !linux

package turn

import "errors"

// unseen is for sandboxes, which need Linux.
func unseen([]string) (int, error) { return -1, errors.New("sandboxes need Linux") }
