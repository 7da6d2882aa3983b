// Package cursor drives Cursor's command line agent, `cursor-agent`, in its headless stream-json mode.
//
// It owns the shape of that program: which flags a turn needs, the files it obeys, the frames it prints and what its
// failures mean. The wire format is as recorded from builds 2026.02 to 2026.10; nothing in it is versioned, so the
// decoder takes every build it has seen and keeps what it does not know as notices. What the CLI's other commands print is
// read by typed functions, which the host gives a way to run them; its settings are edited in place.
//
// It never starts a process except to probe for the program, and never writes, or locks, a conversation that the CLI keeps.
package cursor
