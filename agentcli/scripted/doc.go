// Package scripted drives a program of the user's as an agent: JSON lines on its standard input and output, one process for
// many turns. docs/scripted.md is the reference of the protocol.
//
// The package knows the lines. What a call does, and what is recorded of it, is the host's business.
package scripted
