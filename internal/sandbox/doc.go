// Package sandbox turns a description of what a process may see into the command line of bubblewrap, and says whether
// this machine can run it.
//
// [Wrap] is the whole door: a [Profile] and an argv go in, an argv that begins with the absolute path of bwrap comes
// out. Everything is unshared, every capability dropped, the system is a minimal read-only one, and the only writable
// places are private tmpfs mounts, the workspace and the private home.
//
// The package fails closed: where isolation cannot be had, Wrap gives an error and never the bare argv. It never starts
// the process it wraps (internal/turn does), never sets a variable (the environment travels by execve, so no secret is
// ever an argument), and knows neither providers nor turns.
package sandbox
