package team

import (
	"fmt"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// WarnOverlap tells whoever is above an agent that it and another one, of whatever team, changed the same files of one
// repository. Each file of a pair is told once.
type WarnOverlap struct {
	ID    string
	Agent string
	// Other is the other agent's id, OtherPath what people call it.
	Other, OtherPath string
	// Repo is the top of the repository, Files are relative to it.
	Repo  string
	Files []string
}

// Overlap is what was told of one agent and another.
type Overlap struct {
	Other string   `json:"other"`
	Repo  string   `json:"repo"`
	Files []string `json:"files"`
}

const (
	// overlapsMost bounds the files that are told of one agent: with that many, it is known that the work is not divided.
	overlapsMost = 500
	// overlapsNamed is how many of them one message names.
	overlapsNamed = 10
)

func (c WarnOverlap) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	told, room := []string{}, overlapsMost
	for _, o := range a.Overlaps {
		if room -= len(o.Files); o.Other == c.Other && o.Repo == c.Repo {
			told = o.Files
		}
	}
	var files []string
	for _, f := range c.Files {
		if f = clean(f); !slices.Contains(told, f) && !slices.Contains(files, f) && len(files) < room {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return Status{"told"}, nil
	}
	slices.Sort(files)
	d.add(&OverlapFound{Agent: a.ID, Other: c.Other, OtherPath: c.OtherPath, Repo: clean(c.Repo), Files: files})
	text := fmt.Sprintf("%s and %s both changed, in the repository %s: %s", d.Path(a.ID), c.OtherPath, c.Repo,
		strings.Join(files[:min(len(files), overlapsNamed)], ", "))
	if more := len(files) - overlapsNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return Warn{ID: c.ID, Agent: a.ID, Text: text}.decide(d)
}

// OverlapFound means: an agent and another one changed the same files, and whoever is above the agent is told.
type OverlapFound struct {
	Agent     string   `json:"agent"`
	Other     string   `json:"other"`
	OtherPath string   `json:"other_path"`
	Repo      string   `json:"repo"`
	Files     []string `json:"files"`
}

// Type implements Fact.
func (*OverlapFound) Type() string { return "workspace.overlap" }

func (x *OverlapFound) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	// Copies of agents are handed out, so neither list is changed in place.
	next := slices.Clone(a.Overlaps)
	i := slices.IndexFunc(next, func(o Overlap) bool { return o.Other == x.Other && o.Repo == x.Repo })
	if i < 0 {
		next = append(next, Overlap{Other: x.Other, Repo: x.Repo})
		i = len(next) - 1
	}
	next[i].Files = append(slices.Clone(next[i].Files), x.Files...)
	a.Overlaps = next
	return nil
}
