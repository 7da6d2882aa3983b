// Package shell runs a person's command in an agent's sandbox, on the person's own terminal and outside of the agent's turns.
//
// The daemon says what the sandbox is ([Plan]) and keeps the places that it needs; [Run] starts it, serves its egress door and keeps
// its bounds, as the shim of a turn does, for as long as the command lives. [Foreground] is a step inside that gives the command the
// terminal. The package decides nothing about a sandbox, keeps no record of what the command does, and prints nothing while it runs.
package shell

import (
	"substrat.dev/substrat/internal/door"
	"substrat.dev/substrat/internal/resource"
)

// Plan is one sandbox that was made ready.
type Plan struct {
	// ID is the mark of its processes, and the name of their group.
	ID   string   `json:"id"`
	Argv []string `json:"argv"`
	// Options are further ones of bwrap, handed over by a descriptor.
	Options []string     `json:"options,omitempty"`
	Env     []string     `json:"env"`
	Net     *door.Policy `json:"net,omitempty"`
	// Support and Path are the bounds, and what keeps them.
	Support resource.Support `json:"support"`
	Path    []resource.Node  `json:"path"`
}

// Note is what the person's side tells the daemon while the command runs.
type Note struct {
	// PID is the first process of the sandbox, as the host numbers it.
	PID int `json:"pid"`
}

// Command is the hidden command that runs [Foreground].
const Command = "foreground"

// What kind of program Foreground starts.
const (
	Interactive = "shell"   // it does its own job control
	Plain       = "command" // nobody would continue it once it was suspended
)
