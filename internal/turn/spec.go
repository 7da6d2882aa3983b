package turn

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/door"
	"substrat.dev/substrat/internal/resource"
)

// Marker is the variable that every process of a turn inherits; its value is Spec.ID. Reap finds processes by it.
const Marker = "SUBSTRAT_TURN"

// Spec is what to run.
type Spec struct {
	// ID is unique among all turns of the machine: 1 to 128 letters, digits, dots, dashes, underscores.
	ID   string   `json:"id"`
	Argv []string `json:"argv"`
	// Env is the whole environment, "NAME=value". Marker is added.
	Env []string `json:"env"`
	// Dir is the working directory of the process, absolute; empty means "/".
	Dir string `json:"dir"`
	// Stdin is written to the process first. Then its stdin is closed, unless KeepStdin: Turn.Write goes on with it.
	Stdin     []byte `json:"-"`
	KeepStdin bool   `json:"keep_stdin"`
	// Sandboxed says that Argv[0] is bwrap with --die-with-parent and its own pid namespace. The shim inserts
	// --json-status-fd to learn the pid of the namespace's init.
	Sandboxed bool `json:"sandboxed"`
	// Net, where set, gives the process a network of its own, with nothing in it but an egress door that lets through what the
	// policy says. It is for sandboxed processes, whose Argv leaves the network as it finds it (--share-net).
	Net *door.Policy `json:"net,omitempty"`
	// Bounds, where set, bound what the process and all that it starts may use.
	Bounds *Bounds `json:"bounds,omitempty"`
	// Options are further options of bwrap, given to it by a descriptor: what everybody on the machine may read stands in
	// Argv. They are for a sandbox only.
	Options []string `json:"-"`
	// Pinned are directories in Options that are opened by the shim and mounted by what was opened (--bind-fd).
	Pinned []string `json:"pinned,omitempty"`
	// Secrets are values that the process was given and that are to be in no file of the turn: in what it prints a mark
	// takes their place before it is written, whatever the encoding. They are in the shim's memory only.
	Secrets []string `json:"-"`
	Limits  Limits   `json:"limits"`
}

// Bounds are where the processes of a turn stand among those of others: the nodes above it bound several turns together, the last
// one is the turn.
type Bounds struct {
	Support resource.Support `json:"support"`
	Path    []resource.Node  `json:"path"`
}

func (b *Bounds) own() resource.Limits { return b.Path[len(b.Path)-1].Limits }

// Limits bound a turn. The shim keeps them by the monotonic clock. For the graces and the byte counts zero means the
// default.
type Limits struct {
	// Wall ends the turn this long after its start, Silence this long after its last byte of output. Zero: never.
	Wall    time.Duration `json:"wall,omitempty"`
	Silence time.Duration `json:"silence,omitempty"`
	// Alone ends the turn this long after the last daemon that followed it hung up. Zero: never. It is for processes that no
	// other limit ends.
	Alone time.Duration `json:"alone,omitempty"`
	// ResultGrace is how long the process may take to exit by itself after Turn.End. Default 2 s.
	ResultGrace time.Duration `json:"result_grace,omitempty"`
	// InterruptGrace is between SIGINT and SIGTERM, TermGrace between SIGTERM and SIGKILL. Defaults 5 s and 2 s.
	InterruptGrace time.Duration `json:"interrupt_grace,omitempty"`
	TermGrace      time.Duration `json:"term_grace,omitempty"`
	// DrainGrace is how long after the process's exit its descendants may go on writing to stdout. Default 500 ms.
	DrainGrace time.Duration `json:"drain_grace,omitempty"`
	// OutputBytes and StderrBytes cap the files; the end of a longer stream is kept too. Defaults 256 MiB and 8 MiB.
	OutputBytes int64 `json:"output_bytes,omitempty"`
	StderrBytes int64 `json:"stderr_bytes,omitempty"`
}

func (l Limits) withDefaults() Limits {
	l.ResultGrace = orElse(l.ResultGrace, 2*time.Second)
	l.InterruptGrace = orElse(l.InterruptGrace, 5*time.Second)
	l.TermGrace = orElse(l.TermGrace, 2*time.Second)
	l.DrainGrace = orElse(l.DrainGrace, 500*time.Millisecond)
	l.OutputBytes = orElse(l.OutputBytes, 256<<20)
	l.StderrBytes = orElse(l.StderrBytes, 8<<20)
	return l
}

func orElse[T time.Duration | int64](v, fallback T) T {
	if v == 0 {
		return fallback
	}
	return v
}

// wellFormed is no regular expression: compiling one would cost every start of the shim a third of a millisecond.
func wellFormed(id string) bool {
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)) {
			return false
		}
	}
	return id != "" && len(id) <= 128
}

func (s Spec) check() error {
	switch {
	case !wellFormed(s.ID):
		return substrat.Errorf(substrat.CodeInvalid, "cannot start a turn: the id %q is malformed", s.ID)
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return substrat.Errorf(substrat.CodeInvalid, "cannot start turn %s: the command is empty", s.ID)
	case s.Bounds != nil && len(s.Bounds.Path) == 0:
		return substrat.Errorf(substrat.CodeInvalid, "cannot start turn %s: its bounds have no place", s.ID)
	case s.Dir != "" && !filepath.IsAbs(s.Dir):
		return substrat.Errorf(substrat.CodeInvalid, "cannot start turn %s: the working directory is not absolute: %q", s.ID, s.Dir)
	}
	for _, v := range slices.Concat([]string{s.Dir}, s.Argv, s.Env, s.Options) {
		if strings.ContainsRune(v, 0) {
			return substrat.Errorf(substrat.CodeInvalid, "cannot start turn %s: an argument or variable holds a NUL byte", s.ID)
		}
	}
	for _, v := range s.Env {
		if strings.IndexByte(v, '=') < 1 {
			return substrat.Errorf(substrat.CodeInvalid, "cannot start turn %s: a variable is not of the form NAME=value", s.ID)
		}
	}
	return s.Limits.check(s.ID)
}

func (l Limits) check(id string) error {
	for _, d := range []time.Duration{l.Wall, l.Silence, l.Alone, l.ResultGrace, l.InterruptGrace, l.TermGrace, l.DrainGrace} {
		if d < 0 {
			return substrat.Errorf(substrat.CodeInvalid, "cannot start turn %s: a limit is negative", id)
		}
	}
	if l.OutputBytes < 0 || l.StderrBytes < 0 {
		return substrat.Errorf(substrat.CodeInvalid, "cannot start turn %s: a limit is negative", id)
	}
	return nil
}
