//go:build !failpoint

package sqlite

// failpoint marks an instruction at which tests end the process; see failpoint_on.go.
func failpoint() {}
