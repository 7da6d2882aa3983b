//go:build !race

package resource

import "time"

const raceTime = time.Duration(0)
