package team

import (
	"fmt"
	"strings"

	"substrat.dev/substrat"
)

// WarnFlagged tells the user that files were written in an agent's workspace which programs on their machine obey later. It
// goes to the user and not to the agent's parent, since it is the user's machine, and the parent may have asked for it.
type WarnFlagged struct {
	ID, Agent, Turn string
	// Root is the directory that the files' paths are relative to.
	Root  string
	Files []FlaggedFile
	// Others are the paths of agents that ran at the same time and could write there as well.
	Others []string
}

// FlaggedFile is one of these files.
type FlaggedFile struct {
	Path string `json:"path"`
	// Change is created, changed, removed or became a link.
	Change string `json:"change"`
	// By is who obeys it, Does what it can do.
	By   string `json:"by"`
	Does string `json:"does"`
	// Text says all that on one line, escaped, with what is new in the file.
	Text string `json:"text"`
}

const (
	// flaggedMost bounds the files of one event, flaggedNamed those that a message names.
	flaggedMost  = 100
	flaggedNamed = 10
)

func (c WarnFlagged) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	if len(c.Files) == 0 {
		return Status{"told"}, nil
	}
	x := &FilesFlagged{Agent: a.ID, Turn: c.Turn, Root: clean(c.Root), Others: c.Others, More: max(0, len(c.Files)-flaggedMost)}
	for _, f := range c.Files[:min(len(c.Files), flaggedMost)] {
		f.Path, f.Text = clean(f.Path), clean(f.Text)
		x.Files = append(x.Files, f)
	}
	d.add(x)
	m := Message{Message: substrat.Message{
		ID: c.ID, Team: d.Team, From: substrat.System, To: substrat.User, Kind: substrat.KindNotification, Text: x.text(d.Path(a.ID), len(c.Files)), Hops: a.LastHops + 1,
	}}
	d.send(m)
	return Status{"warned"}, nil
}

// text says it to the user.
func (x *FilesFlagged) text(agent string, all int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "While %s was running", agent)
	if len(x.Others) > 0 {
		fmt.Fprintf(&b, ", as were %s", strings.Join(x.Others, ", "))
	}
	fmt.Fprintf(&b, ", files were written in %s that programs on your machine obey. Look at them before you open it:", x.Root)
	for _, f := range x.Files[:min(len(x.Files), flaggedNamed)] {
		b.WriteString("\n- " + f.Text)
	}
	if more := all - flaggedNamed; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// FilesFlagged means: files that programs obey were written while an agent ran, and the user is told.
type FilesFlagged struct {
	Agent  string        `json:"agent"`
	Turn   string        `json:"turn,omitempty"`
	Root   string        `json:"root"`
	Others []string      `json:"others,omitempty"`
	Files  []FlaggedFile `json:"files"`
	// More is how many files there were beyond those.
	More int `json:"more,omitempty"`
}

// Type implements Fact.
func (*FilesFlagged) Type() string { return "workspace.flagged" }

func (x *FilesFlagged) fold(f *folding) error {
	_, err := f.agent(x.Agent)
	return err
}
