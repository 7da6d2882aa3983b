// Package gemini drives Google's Gemini CLI, `gemini`, in its headless stream-json mode.
//
// It owns the shape of that program: which flags and settings a turn needs, the frames it prints and what its failures
// mean. The frames are as recorded from version 0.61.
//
// It never starts a process except to ask for its version. Reading its conversations is in the files history*.go. It writes no file that
// the user has: what the CLI must be told goes into files of its own, which flags and variables name.
package gemini
