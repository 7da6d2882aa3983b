// Package gemini drives Google's Gemini CLI, `gemini`, in its headless stream-json mode.
//
// It owns the shape of that program: which flags and settings a turn needs, the frames it prints and what its failures
// mean. The frames are as recorded from version 0.61.
//
// It never starts a process except to ask for its version. Reading its conversations is in the files history*.go. It writes
// over no file of the user's: where the home is theirs, the files that a turn cannot do without are kept in a directory
// apart.
package gemini
