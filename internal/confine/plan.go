// Package confine is the last step inside a sandbox: it checks that the mounts are what they should be, lowers its own
// rights for good, and becomes the agent.
//
// [Argv] is what the sandbox runs; [Main] is the step itself. What Main takes away (capabilities, writes outside the
// named places, system calls that only an escape needs) no program that is started later can get back. It fails closed:
// what cannot be checked or taken away ends the step with one line on stderr, and the agent does not run.
//
// The package never makes a mount or a namespace (bubblewrap does), keeps no process behind, and knows neither agents
// nor turns. It is linked into a small binary and starts with every turn, so it imports little.
package confine

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// Command is the hidden command that runs [Main].
const Command = "confine"

// What [Main] returns where it does not become the agent. The numbers are those of env and of container runtimes.
const (
	ExitRefused       = 125 // the plan is broken, or a right could not be taken away
	ExitNotExecutable = 126 // the agent's program may not be run
	ExitNotFound      = 127 // the agent's program does not exist
)

// How much of Landlock a plan wants.
const (
	LandlockBest = "best" // a second wall behind the mounts: as much as the kernel has
	LandlockMust = "must" // the only wall: nothing runs where the kernel lacks it
	LandlockOff  = "off"
)

// MustABI is the oldest Landlock that [LandlockMust] accepts. Before it an agent could end any process of its user,
// the daemon among them.
const MustABI = 6

// UnixABI is the oldest Landlock that holds sockets in the file system: before it, who may not read the place of a
// socket may still connect to it, and so reach the session bus or a container daemon.
const UnixABI = 9

// PlainDevices are the devices that every program expects and that lead nowhere. With [LandlockMust] the host's /dev is
// what the process sees: it holds disks and the person's terminals, so a plan names these, and never /dev.
var PlainDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// A kernel takes no single argument over 128 KiB.
const planMost = 120 << 10

// Plan says what the process keeps. It travels as an argument, which others may read: nothing secret belongs in it.
type Plan struct {
	// Write are the places that stay writable, with all below. One that does not exist is skipped; one that is reached
	// through a symbolic link is refused.
	Write []string `json:"write,omitempty"`
	// Mounts are checked before anything else.
	Mounts []Mount `json:"mounts,omitempty"`
	// Landlock is LandlockBest, LandlockMust or LandlockOff.
	Landlock string `json:"landlock"`
	// Read are the places that may be read and executed from beside Write, for LandlockMust. LandlockBest reads all.
	Read []string `json:"read,omitempty"`
	// ConnectTCP are the ports that may be connected to with LandlockMust; no port may be listened on. Landlock knows
	// ports and not addresses, so a port is open on every host. Without any, there are no internet sockets at all.
	ConnectTCP []uint16 `json:"connect_tcp,omitempty"`
	// AnyNet leaves the internet's sockets as the host has them, with LandlockMust.
	AnyNet bool `json:"any_net,omitempty"`
	// Nested leaves namespaces and mounts to agents that sandbox their own tools. Of LandlockBest only the scopes of
	// signals and abstract sockets remain then, because a process with Landlock's file rules cannot mount.
	Nested bool `json:"nested,omitempty"`
	// Debug leaves ptrace and its kin.
	Debug bool `json:"debug,omitempty"`
	// NoUDP leaves TCP alone of the internet protocols. Landlock's rules do not cover the others.
	NoUDP bool `json:"no_udp,omitempty"`
	// AnyUnix leaves unix sockets with LandlockMust on a kernel before UnixABI, where all sockets of the user are open
	// then. Without it such a kernel has none but those of socketpair.
	AnyUnix bool   `json:"any_unix,omitempty"`
	Limits  Limits `json:"limits"`
}

// Mount is one that must be there: exactly at At, with no symbolic link on the way, read-only or not as said.
type Mount struct {
	At       string `json:"at"`
	ReadOnly bool   `json:"read_only,omitempty"`
	// Dev and Ino are what the daemon saw when it checked the source. They tell a source that was swapped between that
	// check and the mount, which At cannot: bubblewrap follows a link at the source. Both zero: not compared.
	Dev uint64 `json:"dev,omitempty"`
	Ino uint64 `json:"ino,omitempty"`
}

// Limits are rlimits, each for one process and for good. Zero leaves what is. A limit is never raised above the one that
// the process has. Core dumps are always off.
type Limits struct {
	OpenFiles  uint64 `json:"open_files,omitempty"`
	Processes  uint64 `json:"processes,omitempty"` // counted per user, over all its processes
	FileSize   uint64 `json:"file_size,omitempty"`
	CPUSeconds uint64 `json:"cpu_seconds,omitempty"`
	Data       uint64 `json:"data,omitempty"`
}

// Argv gives the argv that runs argv under p: exe is the binary that knows [Command], as it is called inside.
func Argv(exe string, p Plan, argv []string) ([]string, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(exe) || strings.ContainsRune(exe, 0) {
		return nil, invalid("the program %.80q has no absolute path", exe)
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, invalid("the command is empty")
	}
	for _, a := range argv {
		if strings.ContainsRune(a, 0) {
			return nil, invalid("an argument holds a NUL byte")
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, invalid("%v", err)
	}
	if len(text) > planMost {
		return nil, invalid("the plan has %d bytes, %d may be", len(text), planMost).WithHint("name fewer places")
	}
	return append([]string{exe, Command, string(text), "--"}, argv...), nil
}

// parse takes Argv apart again, without exe and Command.
func parse(args []string) (Plan, []string, error) {
	var p Plan
	if len(args) < 3 || args[1] != "--" || args[2] == "" {
		return p, nil, invalid("the arguments are not PLAN -- COMMAND")
	}
	d := json.NewDecoder(bytes.NewReader([]byte(args[0])))
	// A field that is not known is a wall that would silently be missing.
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, nil, invalid("the plan cannot be read: %v", err)
	}
	if d.More() {
		return p, nil, invalid("the plan is followed by something else")
	}
	return p, args[2:], p.check()
}

// check holds for every plan, where it is made and where it is used. The strings are checked whole: JSON would turn a
// byte that is no UTF-8 into another path.
func (p *Plan) check() error {
	switch p.Landlock {
	case LandlockBest, LandlockOff:
		if len(p.Read) > 0 || len(p.ConnectTCP) > 0 || p.AnyNet {
			return invalid("places to read, ports and the host's network belong to Landlock %q alone", LandlockMust)
		}
	case LandlockMust:
		if p.Nested {
			return invalid("a process whose only wall is Landlock cannot make sandboxes of its own")
		}
		if p.AnyNet && (p.NoUDP || len(p.ConnectTCP) > 0) {
			return invalid("the whole network of the host is open, and a part of it is not")
		}
		if !p.NoUDP && !p.AnyNet {
			return invalid("Landlock alone does not hold UDP: the plan must refuse it")
		}
		for _, at := range p.Write {
			if at == "/" || at == "/dev" || at == "/proc" {
				return invalid("%s is the host's where Landlock is the only wall", at).WithHint("name what is needed of it")
			}
		}
	default:
		return invalid("Landlock %.20q is not one of %s, %s, %s", p.Landlock, LandlockBest, LandlockMust, LandlockOff)
	}
	if slices.Contains(p.ConnectTCP, 0) {
		return invalid("port 0 cannot be connected to")
	}
	places := slices.Concat(p.Write, p.Read)
	for _, m := range p.Mounts {
		places = append(places, m.At)
	}
	for _, at := range places {
		if !filepath.IsAbs(at) || filepath.Clean(at) != at || strings.ToValidUTF8(at, "") != at || strings.ContainsRune(at, 0) {
			return invalid("%.200q is not a clean absolute path", at)
		}
	}
	return nil
}

func invalid(format string, args ...any) *substrat.Error {
	return substrat.Errorf(substrat.CodeInvalid, "cannot confine a command: "+format, args...)
}
