package tool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/sock"
)

const (
	// settleTime is how long a sandbox may take to be known after a process in it has connected; otherTime how long where one
	// is known already, which may be the one that has just ended.
	settleTime = 5 * time.Second
	otherTime  = 200 * time.Millisecond
	settleStep = 5 * time.Millisecond
	// refusalsMost bounds how many refusals of one turn are put on record; the rest is in the log.
	refusalsMost = 20
)

// belongs refuses a peer that is not this user's, or that runs elsewhere than in the sandbox of the caller. A process in a
// sandbox that the agent has made inside its own belongs.
func belongs(ctx context.Context, caller Caller, conn net.Conn) error {
	uid, err := sock.PeerUID(conn)
	if err != nil {
		return err
	}
	if uid != os.Geteuid() {
		return substrat.Errorf(substrat.CodeForbidden, "the process at the other end is user %d's", uid)
	}
	if caller.Sandboxes == nil {
		return nil
	}
	theirs, err := sock.PIDNamespaces(conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for began := time.Now(); ; {
		ours := caller.Sandboxes()
		if slices.ContainsFunc(theirs, func(ns uint64) bool { return slices.Contains(ours, ns) }) {
			return nil
		}
		// Between the start of a sandbox and the note of which it is, its first process may have come here.
		if len(ours) > 0 && time.Since(began) > otherTime {
			return substrat.Errorf(substrat.CodeForbidden, "the process at the other end is not in this agent's sandbox")
		}
		select {
		case <-time.After(settleStep):
		case <-ctx.Done():
			return substrat.Errorf(substrat.CodeForbidden, "this agent's sandbox is not known")
		}
	}
}

// audit puts refusals on record, as many as are worth it.
type audit struct {
	host   Host
	caller Caller
	n      atomic.Int32
}

// note records why somebody was refused. Anything else that ended a connection is none.
func (a *audit) note(ctx context.Context, err error) {
	var e *substrat.Error
	if !errors.As(err, &e) || e.Code != substrat.CodeForbidden || a.n.Add(1) > refusalsMost {
		return
	}
	a.host.Refused(ctx, a.caller, fmt.Sprintf("the agent's socket: %s", e.Message))
}
