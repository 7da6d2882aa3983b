package agentcli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"substrat.dev/substrat"
)

// Profile is an account that a CLI can work with: what its processes are given of it.
type Profile struct {
	Name string            `json:"name"`
	Env  map[string]string `json:"env,omitempty"`
	// Home is a home of its own, where the CLI has this account's login; empty leaves the home as it is.
	Home string `json:"home,omitempty"`
}

// Attempt is one way to do a turn.
type Attempt struct {
	Model   string  `json:"model"`
	Profile Profile `json:"profile"`
}

// String names an attempt: model:profile.
func (a Attempt) String() string {
	if a.Profile.Name == "" {
		return a.Model
	}
	return a.Model + ":" + a.Profile.Name
}

// Plan is the ways to do a turn, the preferred one first: for each model, each of its profiles.
type Plan []Attempt

// Recovery says what may help after a failure.
type Recovery int

// The recoveries.
const (
	Final        Recovery = iota // nothing: another attempt would fail alike, or must not be made
	OtherProfile                 // any other attempt
	OtherModel                   // an attempt with another model
)

// RecoveryOf is decided by the class of a failure alone, never by its text.
func RecoveryOf(class substrat.FailureClass) Recovery {
	switch class {
	case substrat.ClassAuth, substrat.ClassQuota, substrat.ClassRateLimit, substrat.ClassNetwork, substrat.ClassTimeout, substrat.ClassSilence:
		return OtherProfile
	case substrat.ClassModel, substrat.ClassProtocol:
		return OtherModel
	}
	return Final
}

// cooling is how long a profile is left alone after a failure, where the provider does not say; it doubles with each
// failure in a row, up to coolingMost.
var cooling = map[substrat.FailureClass]time.Duration{
	substrat.ClassAuth: 10 * time.Minute, substrat.ClassQuota: 30 * time.Minute, substrat.ClassRateLimit: time.Minute, substrat.ClassNetwork: 5 * time.Second,
}

const coolingMost = time.Hour

// Cooldowns remember across turns which profiles are to be left alone. The zero one is ready. It is safe for concurrent use.
type Cooldowns struct {
	mu    sync.Mutex
	until map[string]time.Time
	inRow map[string]int
}

// Until tells when a profile may be used again; the zero time for one that may be now.
func (c *Cooldowns) Until(profile string, now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.until[profile]; t.After(now) {
		return t
	}
	return time.Time{}
}

// note learns from how an attempt ended.
func (c *Cooldowns) note(profile string, r Result, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == nil {
		c.until, c.inRow = map[string]time.Time{}, map[string]int{}
	}
	if r.Outcome == substrat.Completed {
		delete(c.until, profile)
		delete(c.inRow, profile)
		return
	}
	d := cooling[r.Class]
	if d == 0 {
		return
	}
	d = min(d<<min(c.inRow[profile], 6), coolingMost)
	if asked := time.Duration(r.RetryAfterMS) * time.Millisecond; asked > 0 {
		d = asked
	}
	c.inRow[profile]++
	if until := now.Add(d); until.After(c.until[profile]) {
		c.until[profile] = until
	}
}

// Rotation is one turn's way through a plan. It decides and does nothing: time comes in with each step. What it learns of
// profiles goes to the Cooldowns; that an attempt failed is forgotten with the turn.
type Rotation struct {
	plan    Plan
	cool    *Cooldowns
	retried bool // also after effects
	tried   []string
	left    []bool
	stopped bool
}

// NewRotation begins a turn. AfterEffects allows another attempt although one has changed something.
func NewRotation(plan Plan, cool *Cooldowns, afterEffects bool) *Rotation {
	r := &Rotation{plan: plan, cool: cool, retried: afterEffects, left: make([]bool, len(plan))}
	for i := range r.left {
		r.left[i] = true
	}
	return r
}

// Next gives the attempt to make. Where the only ones left wait for their profiles, ready says when the first may be made.
func (r *Rotation) Next(now time.Time) (a Attempt, ready time.Time, ok bool) {
	if r.stopped {
		return a, ready, false
	}
	for i, a := range r.plan {
		if !r.left[i] {
			continue
		}
		until := r.cool.Until(a.Profile.Name, now)
		if until.IsZero() {
			r.left[i] = false
			return a, time.Time{}, true
		}
		if ready.IsZero() || until.Before(ready) {
			ready = until
		}
	}
	return Attempt{}, ready, false
}

// Report tells how an attempt ended, and whether it did anything that another would repeat.
func (r *Rotation) Report(a Attempt, result Result, effects bool, now time.Time) {
	r.cool.note(a.Profile.Name, result, now)
	r.tried = append(r.tried, fmt.Sprintf("%s: %s", a, result.Class))
	how := RecoveryOf(result.Class)
	timedOut := result.Outcome == substrat.TimedOut
	if result.Outcome != substrat.FailedTurn && !timedOut || how == Final || effects && !r.retried {
		r.stopped = true
		return
	}
	if how == OtherModel {
		for i, other := range r.plan {
			r.left[i] = r.left[i] && other.Model != a.Model
		}
	}
}

// Tried lists the attempts with the classes of their failures.
func (r *Rotation) Tried() []string { return slices.Clone(r.tried) }

// FallbackOptions are for RunFallback.
type FallbackOptions struct {
	Plan      Plan
	Cooldowns *Cooldowns
	// AfterEffects allows another attempt although one has changed something: it will be done twice.
	AfterEffects bool
	// Now is the clock; nil is the real one.
	Now func() time.Time
	// Emit gets the events of all attempts. Between two stands a retry with Reset: what was said before it is void. The
	// result of an attempt that is not the last is not given.
	Emit func(Event) error
}

// RunFallback makes attempts until one succeeds, or another would not help. Each turn begins with the plan's first: which
// attempt an earlier turn needed is of no account, but that its profile is to be left alone is.
func RunFallback(ctx context.Context, o FallbackOptions, attempt func(ctx context.Context, a Attempt, emit func(Event) error) (Result, error)) (Result, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Cooldowns == nil {
		o.Cooldowns = &Cooldowns{}
	}
	if o.Emit == nil {
		o.Emit = func(Event) error { return nil }
	}
	r := NewRotation(o.Plan, o.Cooldowns, o.AfterEffects)
	var result Result
	var last *Event // the result of the attempt before, held back
	for {
		a, ready, ok := r.Next(o.Now())
		if !ok {
			return r.end(result, last, ready, o)
		}
		if len(r.tried) > 0 {
			said := "the turn starts over with " + a.String() + ": " + r.tried[len(r.tried)-1]
			if err := o.Emit(Event{Type: EventRetry, Reset: true, Text: said}); err != nil {
				return result, err
			}
		}
		effects := false
		last = nil
		ended, err := attempt(ctx, a, func(e Event) error {
			if e.Type == EventResult {
				e.Raw = nil
				last = &e
				return nil
			}
			effects = effects || e.Type == EventToolStart && e.Tool != nil && changes(e.Tool.Kind)
			return o.Emit(e)
		})
		if result = ended; err != nil {
			return result, err
		}
		r.Report(a, result, effects, o.Now())
		if ctx.Err() != nil {
			r.stopped = true
		}
	}
}

// changes reports a kind of tool that may leave something changed.
func changes(kind string) bool {
	switch kind {
	case "read", "search", "think", "fetch":
		return false
	}
	return true
}

// end is the result of a turn whose attempts are over.
func (r *Rotation) end(result Result, last *Event, ready time.Time, o FallbackOptions) (Result, error) {
	switch {
	case len(o.Plan) == 0:
		return result, substrat.Errorf(substrat.CodeInvalid, "cannot run the turn: its plan has no attempt").WithHint("enable a model and give it a profile")
	case len(r.tried) == 0:
		result.Outcome, result.Class = substrat.FailedTurn, substrat.ClassRateLimit
		result.Detail = "every profile is left alone until " + ready.UTC().Format(time.RFC3339) + ", because of earlier failures"
		result.RetryAfterMS = ready.Sub(o.Now()).Milliseconds()
		last = &Event{Type: EventResult}
	case len(r.tried) > 1 && result.Outcome != substrat.Completed:
		result.Detail += "; tried: " + strings.Join(r.tried, ", ")
	}
	if last == nil {
		return result, nil
	}
	last.Result = &result
	return result, o.Emit(*last)
}
