//go:build attack && linux

package attack

import (
	"fmt"
	"regexp"
	"slices"
)

// verdict is what an attempt came to.
type verdict string

const (
	// refused: it did not work.
	refused verdict = "refused"
	// contained: the call worked, and reached nothing that is not the sandbox's own.
	contained verdict = "contained"
	// told: it worked by design, in a place that is the agent's to write, and the daemon tells of it.
	told verdict = "told"
	// known: it works, and SECURITY.md says so under what is not protected.
	known verdict = "known"
	// silent: it was refused, and no event says so where one should.
	silent verdict = "SILENT"
	// hole: it worked.
	hole verdict = "HOLE"
	// untried: it could not be tried.
	untried verdict = "not tried"
)

// bad says whether a verdict fails the run.
func (v verdict) bad() bool { return v == hole || v == silent }

// outcome is a verdict and what happened, in words.
type outcome struct {
	Verdict verdict `json:"verdict"`
	Text    string  `json:"text"`
}

func was(v verdict, format string, args ...any) outcome {
	return outcome{v, fmt.Sprintf(format, args...)}
}

// attempt is one thing that is tried. It has try, or play.
type attempt struct {
	id, threat, what string
	// prepare runs outside before the turn.
	prepare func(w *world)
	// try runs inside the sandbox, in a process of its own. The facts of the world are known to it.
	try func(f *facts) outcome
	// judge runs outside after the turn, and has the last word.
	judge func(w *world, o outcome) outcome
	// play is an attempt that takes turns of its own, driven from outside.
	play func(w *world) outcome
	// event is what the type and data of an event must match that tells of the refusal; nil where the daemon cannot see it.
	event *regexp.Regexp
	// agent is in whose turn it is tried: attacker if empty, or door.
	agent string
}

// attempts are all there are, by subject.
func attempts() []attempt {
	return slices.Concat(files(), processes(), devices(), namespaces(), kernel(), network(), sockets(), door(), identity(), tools(), config(),
		planted(), links(), worktrees(), bombs(), floods(), texts(), secrets())
}

func find(id string) (attempt, bool) {
	if id == "L99" { // not an attempt by itself: what L04 does meanwhile
		return attempt{id: id, try: swap}, true
	}
	all := attempts()
	i := slices.IndexFunc(all, func(a attempt) bool { return a.id == id })
	if i < 0 {
		return attempt{}, false
	}
	return all[i], true
}

// facts are what the attacker is told of the host: everything, for a secret place is no wall.
type facts struct {
	// Agents, by name: id and private home on the host.
	Agents map[string]agentFacts
	// HostHome is the home of the daemon's user, Home the daemon's, Dir what holds both.
	HostHome, Home, Dir string
	// Shared is the workspace of attacker and victim, Private another agent's.
	Shared, Private string
	// Canary is in every file that is not to be read.
	Canary string
	// Daemon is the daemon's process, on the host.
	Daemon int
	// Routes are method and path of the operator's API.
	Routes [][2]string
	// Addresses of listeners of the host.
	Loopback, Machine, Loopback6, LinkLocal, UDP, Abstract string
	// Open is the one address that the door lets through, HostName a name of this machine that it would.
	Open, HostName string
	// Unix are sockets of the host by path.
	Unix []string
	// Resolvers are the host's.
	Resolvers []string
	// OldToken is the token of an older turn, VictimToken that of a turn of the victim that is open now.
	OldToken, VictimToken, VictimSock string
	// ShmKey is a System V segment of the host, KeyName a key in its user keyring.
	ShmKey  int
	KeyName string
	// Root says that the daemon runs as root.
	Root bool
}

type agentFacts struct{ ID, Home string }
