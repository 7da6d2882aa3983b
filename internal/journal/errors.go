package journal

import "errors"

// ErrFatal is in the chain of every error after which the journal can make no further promise: the disk failed a write
// or an fsync, or the file is damaged. Whether the Append that met it became durable is unknown, and a second fsync that
// succeeds would prove nothing, for the kernel may have dropped the pages that failed. So the error sticks: every later
// write fails with it. The daemon must exit and recover from what is on disk.
var ErrFatal = errors.New("the journal cannot go on until the daemon has restarted")
