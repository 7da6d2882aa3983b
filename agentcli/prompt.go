package agentcli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"substrat.dev/substrat"
)

// run is one prompt on its way.
type run struct {
	s      *Session
	prompt string
	yield  func(Event, error) bool
	// left says that whoever reads the events has gone: nothing more is given to them.
	left   bool
	offset int64
	// text and thought hold a segment that is given whole; their events hold where it began.
	text, thought strings.Builder
	// ended says why the turn is ended from outside, if it is.
	ended atomic.Pointer[Result]
}

// errLeft ends a conversation whose events nobody wants any more.
var errLeft = errors.New("the reader of the events has gone")

// followUps bounds how often a turn is followed by one that tells a CLI what its tools answered.
const followUps = 16

// all takes the prompt to its end, and, for a CLI that hears what its tools answered with the next turn only, those too.
func (r *run) all(ctx context.Context) (Result, error) {
	for n := 0; ; n++ {
		result, err := r.run(ctx)
		if err != nil || r.left {
			return result, err
		}
		req := Request{Prompt: r.prompt, Messages: r.s.said}
		r.s.said = result.Conversation(req)
		if _, more := result.Next(req); !more || n >= followUps {
			return result, nil
		}
		r.prompt = ""
	}
}

// run takes one turn to its end. When it returns, nothing of it lives but a live process that waits for the next.
func (r *run) run(ctx context.Context) (Result, error) {
	s := r.s
	if ctx.Err() != nil {
		return Result{Session: s.id, Outcome: substrat.Cancelled, Class: substrat.ClassCancelled, Detail: "cancelled before it began"}, nil
	}
	live, isLive := s.p.(LiveProvider)
	s.wake()
	fresh := s.proc == nil
	req, err := r.start(ctx)
	if err != nil {
		return Result{}, err
	}
	proc := s.proc
	guarded := make(chan struct{})
	done := make(chan struct{})
	go func() { defer close(guarded); r.guard(ctx, proc, req, done) }()
	// The conversation outlives ctx: what the process says about its end still counts.
	talk, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var result Result
	if isLive && fresh {
		greeting, done := context.WithTimeout(talk, GreetMost)
		s.greeting, err = live.Greet(greeting, proc, req)
		done()
		if errors.Is(err, context.DeadlineExceeded) {
			err = GreetTooLong()
		}
		req.Live.Greeting = s.greeting
		if errors.Is(err, EOF) {
			err = nil // the conversation finds out how it ended
		}
	}
	if failure := new(Failure); errors.As(err, &failure) {
		result, err = Result{Terminal: true, Outcome: substrat.FailedTurn, Class: failure.Class, Detail: failure.Detail}, nil
		proc.stop(0)
	} else if err == nil {
		result, err = s.p.Converse(talk, proc, req, r.emit)
	}
	close(done)
	<-guarded
	if r.left {
		err = errLeft
	}
	if keep := isLive && err == nil && result.Terminal && !result.Void && proc.alive(); keep {
		s.rest(live)
	} else {
		grace := s.o.Limits.Grace
		if err != nil {
			grace = 0
		}
		proc.end(grace)
		s.proc = nil
	}
	if err != nil && !r.left {
		return result, r.hostError(err, proc)
	}
	return r.judge(ctx, req, result, proc), nil
}

// start gets the process ready: a new one, or the live one that waits.
func (r *run) start(ctx context.Context) (Request, error) {
	s := r.s
	if s.proc != nil {
		return s.request(ctx, r.prompt, s.proc.home), nil
	}
	plan, err := s.plan(ctx, r.prompt)
	if err != nil {
		return Request{}, err
	}
	s.proc, err = startProcess(plan, s.o.Limits)
	return plan.request, err
}

// hostError makes what went wrong with a conversation readable: usually it is the end of the process at a bad moment.
func (r *run) hostError(err error, proc *process) error {
	if tail := strings.TrimSpace(string(proc.exit().Stderr)); tail != "" {
		return fmt.Errorf("%w; the program said: %s", err, tail[max(0, len(tail)-2000):])
	}
	return err
}

// judge says how the turn ended: by its terminal record if there was one, whatever the process did afterwards.
func (r *run) judge(ctx context.Context, req Request, result Result, proc *process) Result {
	if result.Session != "" {
		r.s.id = result.Session
	} else {
		result.Session = r.s.id
	}
	ended := r.ended.Load()
	if result.Terminal && (ended == nil || result.Outcome != substrat.FailedTurn) {
		return result
	}
	if ended != nil {
		result.Outcome, result.Class, result.Detail = ended.Outcome, ended.Class, ended.Detail
		return result
	}
	result.Outcome = substrat.FailedTurn
	exit := proc.exit()
	if result.Class, result.Detail = r.s.p.Diagnose(req, result, exit); result.Class == "" {
		result.Outcome = substrat.Completed
	}
	r.explain(ctx, req, &result, proc, exit)
	return result
}

// guard ends the turn when it is cancelled or breaks a limit.
func (r *run) guard(ctx context.Context, proc *process, req Request, done <-chan struct{}) {
	why := r.awaitEnd(ctx, proc, done)
	if why == nil {
		return
	}
	r.ended.Store(why)
	grace := r.s.o.Limits.Grace
	if polite, ok := r.s.p.(Interrupter); ok {
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if polite.Interrupt(asking, proc, req) == nil {
			select {
			case <-done:
				return
			case <-asking.Done():
			}
		}
	}
	proc.stop(grace)
}

// awaitEnd gives why the turn is to end, nil when it ended by itself.
func (r *run) awaitEnd(ctx context.Context, proc *process, done <-chan struct{}) *Result {
	l := r.s.o.Limits
	wall := time.NewTimer(l.Wall)
	defer wall.Stop()
	silence := time.NewTimer(l.Silence)
	defer silence.Stop()
	proc.heard.Store(time.Now().UnixNano())
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return &Result{Outcome: substrat.Cancelled, Class: substrat.ClassCancelled, Detail: "the prompt was cancelled"}
		case <-wall.C:
			return &Result{Outcome: substrat.TimedOut, Class: substrat.ClassTimeout, Detail: fmt.Sprintf("the turn took longer than %v", l.Wall)}
		case <-proc.flooded:
			return &Result{Outcome: substrat.FailedTurn, Class: substrat.ClassProtocol, Detail: fmt.Sprintf("the agent printed more than %d bytes", l.Output)}
		case <-silence.C:
			left := l.Silence - time.Since(time.Unix(0, proc.heard.Load()))
			if left <= 0 {
				return &Result{Outcome: substrat.TimedOut, Class: substrat.ClassSilence, Detail: fmt.Sprintf("the agent printed nothing for %v", l.Silence)}
			}
			silence.Reset(left)
		}
	}
}

// emit passes an event on. The result is kept back until everything has ended.
func (r *run) emit(e Event) error {
	r.offset = e.Offset
	if e.Session != "" && e.Type == EventSession {
		r.s.id = e.Session
	}
	if e.Type == EventResult {
		return nil
	}
	if !r.s.o.Partial {
		return r.whole(e)
	}
	return r.give(e)
}

func (r *run) give(e Event) error {
	if r.left || !r.yield(e, nil) {
		r.left = true
		return errLeft
	}
	return nil
}

// whole holds pieces of text back until their segment is complete.
func (r *run) whole(e Event) error {
	flush := func(held *strings.Builder, kind EventType) error {
		if held.Len() == 0 {
			return nil
		}
		text := held.String()
		held.Reset()
		return r.give(Event{Type: kind, Text: text, TimeMS: e.TimeMS, Offset: e.Offset})
	}
	switch e.Type {
	case EventText:
		r.text.WriteString(e.Text)
		return nil
	case EventThinking:
		r.thought.WriteString(e.Text)
		return nil
	case EventTextEnd:
		if err := flush(&r.text, EventText); err != nil {
			return err
		}
	case EventThinkEnd:
		if err := flush(&r.thought, EventThinking); err != nil {
			return err
		}
	case EventRetry:
		if e.Reset {
			r.text.Reset()
			r.thought.Reset()
		}
	}
	return r.give(e)
}
