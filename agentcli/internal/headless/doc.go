// Package headless holds what the providers of headless agent CLIs have in common: reading JSON lines without trusting
// them, putting a turn's text together, pairing tool calls, classing failures and finding an installed program.
//
// It owns no CLI's flags or frames: those are in each provider's package. It never starts a process except to ask a
// program for its version.
package headless
