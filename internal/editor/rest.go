package editor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
)

// A prompt ends when the team rests: nobody of it has an open turn or mail that a turn will be made of, and nothing is put
// before the editor's user. Who waits for a person's word that the editor's user has put off, or can only give by the next
// prompt, rests too.

// settled is a team at rest: what it was like, and the end of the journal then. Only what was heard up to there has told
// the editor all that led to it.
type settled struct {
	like string
	seq  int64
}

// reached reports whether an event is the one that was waited for.
func (s settled) reached(seq int64) bool { return s.like != "" && seq >= s.seq }

// rests reports whether the prompt is at its end, and how it ended.
func (f *following) rests(ctx context.Context) (acp.StopReason, bool, error) {
	agents, err := f.c.Agents(ctx, false)
	if err != nil {
		return "", false, f.tolerate(err)
	}
	f.absent = time.Time{}
	agents = slices.DeleteFunc(agents, func(a substrat.Agent) bool { return a.Team != f.team })
	if f.stopping {
		f.stopTurns(ctx, agents)
	}
	held, ok, err := f.quiet(ctx, agents)
	if err != nil || !ok {
		f.settled = settled{}
		return "", false, f.tolerate(err)
	}
	like := fmt.Sprint(len(agents))
	for _, a := range agents {
		like += fmt.Sprint(" ", a.ID, a.Turns, a.Pending)
	}
	if f.settled.like != like {
		status, err := f.c.Status(ctx)
		if err != nil {
			return "", false, f.tolerate(err)
		}
		f.settled = settled{like, status.Seq}
	}
	if f.seen < f.settled.seq {
		return "", false, nil
	}
	return f.verdict(ctx, held)
}

// quiet reports whether nobody of the team will do anything by themselves, and who has mail but is held.
func (f *following) quiet(ctx context.Context, agents []substrat.Agent) (held []string, ok bool, err error) {
	var mail []substrat.Agent
	alive := false
	for _, a := range agents {
		blocked := f.blocked(a)
		if a.ID == f.root.ID {
			alive = true
			if f.shown < a.Turns && (!blocked || time.Since(f.heard) < restless) {
				return nil, false, nil
			}
		}
		if a.Turn != "" && !blocked {
			return nil, false, nil
		}
		if a.Turn == "" && a.Pending > 0 {
			mail = append(mail, a)
		}
	}
	if alive && f.isAsking() {
		return nil, false, nil
	}
	for _, a := range mail {
		why, err := f.holding(ctx, a)
		if err != nil || why == "" {
			return nil, false, err
		}
		held = append(held, a.Path+" has mail, but waits: "+why)
	}
	return held, true, nil
}

// blocked reports whether an agent's open turn waits for a word that nobody is asked for right now.
func (f *following) blocked(a substrat.Agent) bool {
	if a.Turn == "" || f.stopping {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for item, turn := range f.waits {
		if turn == a.Turn && f.asking[item] == nil && (f.taken[item] || f.isTold(item)) {
			return true
		}
	}
	return false
}

// soon is how long a prompt waits for an account that goes on by itself.
const soon = 2 * time.Minute

// holding says what keeps an agent from its mail until a person does something; "" if that is nothing.
func (f *following) holding(ctx context.Context, a substrat.Agent) (string, error) {
	why, err := f.c.Why(ctx, a.ID)
	if err != nil {
		return "", err
	}
	for _, r := range why.Reasons {
		switch r.Kind {
		case substrat.WaitsGate, substrat.WaitsBudget, substrat.WaitsAccount:
			if r.Until == nil || time.Until(*r.Until) > soon {
				return r.Text, nil
			}
		case substrat.WaitsBackoff:
			if f.stopping {
				return r.Text, nil
			}
		}
	}
	return "", nil
}

// verdict says how the prompt ended, and what the user should know of what is left.
func (f *following) verdict(ctx context.Context, held []string) (acp.StopReason, bool, error) {
	if f.stopping {
		return acp.StopReasonCancelled, true, nil
	}
	if t := f.outcome; t != nil && t.Outcome != substrat.Completed {
		if t.Outcome == substrat.Cancelled {
			return acp.StopReasonCancelled, true, nil
		}
		return "", true, &acp.RequestError{
			Code: codeInternal, Message: strings.Trim(fate(*t), "()"),
			Data: map[string]any{"turn": t.ID, "outcome": t.Outcome, "class": t.Class, "detail": t.Detail},
		}
	}
	if f.outcome == nil && f.message != "" {
		if m, err := f.c.Message(ctx, f.message); err == nil && m.State == substrat.Dead {
			return "", true, substrat.Errorf(substrat.CodeInternal, "the prompt was not handled: %s", m.Detail)
		}
	}
	for _, text := range held {
		f.say("(%s)", text)
	}
	f.remind()
	return acp.StopReasonEndTurn, true, nil
}

// tolerate passes over a daemon that is being started anew.
func (f *following) tolerate(err error) error {
	if substrat.CodeOf(err) != substrat.CodeUnavailable {
		return err
	}
	if f.absent.IsZero() {
		f.absent = time.Now()
	}
	if time.Since(f.absent) > absentMost {
		return err
	}
	return nil
}

// stopTurns stops what the team is at, each turn once. One that is stopped may wake others, who are stopped in their turn.
func (f *following) stopTurns(ctx context.Context, agents []substrat.Agent) {
	for _, a := range agents {
		if a.Turn == "" || f.stopped[a.Turn] {
			continue
		}
		_, err := f.c.StopTurn(ctx, a.ID)
		switch substrat.CodeOf(err) {
		case substrat.CodeUnavailable, substrat.CodeTimeout: // the next look tries again
		default:
			f.stopped[a.Turn] = true
		}
		if err != nil && substrat.CodeOf(err) != substrat.CodeConflict {
			f.o.Log.Warn("cannot stop a turn", "agent", a.Path, "error", err)
		}
	}
}
