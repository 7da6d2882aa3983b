//go:build !linux

package turn

// PIDNamespace is for Linux only: elsewhere there is no sandbox.
func PIDNamespace(string) (inode uint64, known bool) { return 0, false }

// PIDNamespaceOf is for Linux only.
func PIDNamespaceOf(int) (inode uint64, known bool) { return 0, false }
