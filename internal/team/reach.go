package team

import (
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// Reach is one attempt of an agent's process to reach a host, as its egress door saw it.
type Reach struct {
	Host    string `json:"host"`
	Port    int    `json:"port,omitempty"`
	Via     string `json:"via,omitempty"`
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
	// Line is where it stands in the process's own list.
	Line int64 `json:"line"`
}

// NoteReach enters attempts into the journal. Lines of a process that were noted before are passed over, so a daemon that reads the
// list again tells nothing twice.
type NoteReach struct {
	Agent, Turn, Process string
	Attempts             []Reach
}

// Reached is how far a process's list was noted.
type Reached struct {
	Process string `json:"process"`
	Line    int64  `json:"line"`
}

func (c NoteReach) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	from := int64(-1)
	if a.Reached.Process == c.Process {
		from = a.Reached.Line
	}
	for _, x := range c.Attempts {
		if x.Line <= from {
			continue
		}
		x.Host, x.Why = clip(clean(x.Host), 300), clip(clean(x.Why), 500)
		d.add(&HostReached{Agent: a.ID, Path: d.Path(a.ID), Turn: c.Turn, Process: c.Process, Reach: x})
	}
	return Status{"noted"}, nil
}

// HostReached means: a process tried to reach a host, and the door let it or not.
type HostReached struct {
	Agent   string `json:"agent"`
	Path    string `json:"path"`
	Turn    string `json:"turn,omitempty"`
	Process string `json:"process"`
	Reach
}

// Type implements Fact.
func (*HostReached) Type() string { return "net.attempt" }

func (x *HostReached) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	a.Reached = Reached{x.Process, x.Line}
	return nil
}

// hostsMost bounds the hosts that a person allowed one agent.
const hostsMost = 500

// AllowHost lets an agent reach a host from now on: what a person said when they were asked.
type AllowHost struct {
	Agent string
	// Host is a pattern of the door's: a name, with a port where it is not that of the web.
	Host string
}

func (c AllowHost) decide(d *decision) (any, error) {
	if d.Actor.Agent != "" {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot allow a host: only a person may")
	}
	a := d.Agents[c.Agent]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	if c.Host == "" || len(c.Host) > 300 || strings.ContainsAny(c.Host, " \t\r\n*") {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot allow the host %.300q: not a name", c.Host)
	}
	if slices.Contains(a.Hosts, c.Host) {
		return Status{"allowed"}, nil
	}
	if len(a.Hosts) >= hostsMost {
		return nil, substrat.Errorf(substrat.CodeLimit, "cannot allow %s: %d hosts are allowed, which is the limit", c.Host, len(a.Hosts))
	}
	d.add(&HostAllowed{Agent: a.ID, Path: d.Path(a.ID), Host: c.Host})
	return Status{"allowed"}, nil
}

// HostAllowed means: an agent may reach a host.
type HostAllowed struct {
	Agent string `json:"agent"`
	Path  string `json:"path"`
	Host  string `json:"host"`
}

// Type implements Fact.
func (*HostAllowed) Type() string { return "net.allowed" }

func (x *HostAllowed) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	// Copies of agents are handed out, so the list is not changed in place.
	a.Hosts = append(slices.Clone(a.Hosts), x.Host)
	return nil
}
