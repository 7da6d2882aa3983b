//go:build !race

package engine

// raceOptions are for builds with the race detector.
const raceOptions = ""
