//go:build race

package resource

import "time"

// raceTime is what the race detector may add to a measurement.
const raceTime = 3 * time.Second
