package agentcli

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Options say what to run. The zero value of everything but Prompt is usable.
type Options struct {
	Prompt string
	// Session is the conversation to go on with; empty begins one. The last event's Result names it.
	Session string
	Model   string
	Mode    Mode
	// Dir is the workspace; empty means the current directory.
	Dir string
	// Home is a private home for the agent, made if it is missing; empty means the user's own, where the CLI has its login.
	// A CLI that takes MCP servers or denials from files only gets a private home even so, kept for the workspace in the
	// user's cache directory: nothing is written into the user's home or workspace.
	Home         string
	Instructions string
	MCP          []MCPServer
	Deny         []Denial
	// Program is the command of a provider that runs programs of the user's.
	Program []string
	// Args are further arguments for the CLI.
	Args []string
	// Environ is what the process inherits; nil is the part of the own environment that programs need (search path,
	// locale, proxies, temporary files), os.Environ() all of it. Env comes on top.
	Environ []string
	Env     map[string]string
	// Secret keeps the prompt out of argv, where everybody on the machine can read it.
	Secret bool
	// Partial gives text and thinking as they come, in pieces. Without it each segment is one event.
	Partial bool
	Limits  Limits
	// Tools are called by a CLI that speaks the adapter contract; Messages are what was said before, for one that keeps no
	// conversation itself.
	Tools    ToolSet
	Messages []ChatMessage
	// Profile is the account to work with: its variables come on top of Env, its home in place of Home.
	Profile Profile
	// Plan is other ways to do the turn, tried in order when the one before failed in a way that another may not: with another
	// account or model. The first is what Model and Profile say unless it is given. Cooldowns remember across runs which
	// accounts are to be left alone. Without AfterEffects no other way is tried once a tool has changed something.
	Plan         Plan
	Cooldowns    *Cooldowns
	AfterEffects bool
	// Explain has the cause of a failure without a word looked for, by commands of the CLI's own that use nothing up, where the
	// provider is an [Explainer].
	Explain bool
	// Ask decides what the agent asks; see [Request.Ask].
	Ask func(ctx context.Context, q Question) (Answer, error)
}

// Limits bound a run. Zero means the default; there is no way to have none of them but a large value.
type Limits struct {
	// Wall is the longest a prompt may take, by default two hours. Silence is the longest it may print nothing, by default
	// half an hour: commands that agents run can be long and quiet.
	Wall, Silence time.Duration
	// Grace is how long the process may live on after the record that ends its turn, and between the steps of its end: the
	// request to stop, SIGTERM, SIGKILL. By default two seconds.
	Grace time.Duration
	// Line is the longest line that is read, by default 16 MiB: a longer one is passed over with a notice. Output is the
	// most that is read in all, by default 1 GiB.
	Line   int
	Output int64
}

func (l Limits) filled() Limits {
	set := func(d *time.Duration, or time.Duration) {
		if *d <= 0 {
			*d = or
		}
	}
	set(&l.Wall, 2*time.Hour)
	set(&l.Silence, 30*time.Minute)
	set(&l.Grace, 2*time.Second)
	if l.Line <= 0 {
		l.Line = 16 << 20
	}
	if l.Output <= 0 {
		l.Output = 1 << 30
	}
	return l
}

// Run runs one prompt and gives what the agent does, event by event. The last event is of type [EventResult]; its Result
// says how the turn ended, also when it failed, was cancelled by ctx or took too long: none of these is an error of Run.
// An error is the last thing given, and means that there was no turn: the program is not installed or could not be
// started, or its host failed.
//
// When the sequence ends, for whatever reason, a break of the loop included, everything that was started is gone. An
// event's Raw is valid until the next event.
func Run(ctx context.Context, p Provider, o Options) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s, err := Open(p, o)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer func() { _ = s.Close() }()
		if len(o.Plan) > 0 {
			runPlan(ctx, p, o, yield)
			return
		}
		for e, err := range s.Prompt(ctx, o.Prompt) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// runPlan runs one prompt in one way after another.
func runPlan(ctx context.Context, p Provider, o Options, yield func(Event, error) bool) {
	emit := func(e Event) error {
		if !yield(e, nil) {
			return errLeft
		}
		return nil
	}
	_, err := RunFallback(ctx, FallbackOptions{Plan: o.Plan, Cooldowns: o.Cooldowns, AfterEffects: o.AfterEffects, Emit: emit},
		func(ctx context.Context, a Attempt, emit func(Event) error) (Result, error) {
			way := o
			way.Plan, way.Model, way.Profile = nil, a.Model, a.Profile
			return Do(ctx, p, way, emit)
		})
	if err != nil && !errors.Is(err, errLeft) {
		yield(Event{}, err)
	}
}

// Do is Run with a callback, for who wants the result: see gets each event, and an error of its ends the run and is
// returned. It may be nil.
func Do(ctx context.Context, p Provider, o Options, see func(Event) error) (Result, error) {
	var result Result
	for e, err := range Run(ctx, p, o) {
		if err != nil {
			return result, err
		}
		if e.Result != nil {
			result = *e.Result
		}
		if see != nil {
			if err := see(e); err != nil {
				return result, err
			}
		}
	}
	return result, nil
}
