package sqlite

import "time"

// WithFault makes the steps of write transactions ask f first.
func WithFault(o Options, f func(step string) error) Options {
	o.fault = f
	return o
}

// WithClock sets the clock of leases.
func WithClock(o Options, now func() time.Time) Options {
	o.now = now
	return o
}

// Version is the newest schema version.
var Version = len(migrations)

// Coded is an error as the driver makes them.
type Coded int

func (c Coded) Error() string { return "injected" }
func (c Coded) Code() int     { return int(c) }

// Path is where a journal is.
func Path(j *Journal) string { return j.path }

// Unfolded reports how much of the WAL, by the gauge, is left to be folded back.
func (j *Journal) Unfolded() int64 { return j.wal.bytes.Load() }
