//go:build race

package engine

// raceOptions keep the processes of a turn from lingering: under the race detector each one sleeps a second at its exit.
const raceOptions = "atexit_sleep_ms=0"
