// Package claude drives Claude Code, `claude`, in its headless stream-json mode.
//
// It owns the shape of that program: which flags a turn needs, the frames it prints and what its failures mean. The
// frames are as recorded from version 2.1, with what earlier versions print.
//
// It never starts a process except to ask for its version. Reading its conversations is in the files history*.go.
package claude
