// Package codex drives OpenAI's Codex CLI, `codex`, in its headless mode `codex exec --json`.
//
// It owns the shape of that program: which flags and settings a turn needs, the frames it prints and what its failures
// mean. The frames are as recorded from version 0.169, with what earlier versions of this format print.
//
// It never starts a process except to ask for its version. Reading its conversations is in the files history*.go.
package codex
