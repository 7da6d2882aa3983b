package agentcli

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"substrat.dev/substrat"
)

// Session is one conversation, prompt after prompt. With a [LiveProvider] one process serves them all; with any other
// each prompt is a process that resumes the conversation. Prompts go one at a time.
type Session struct {
	p Provider
	o Options

	mu     sync.Mutex // held while a prompt is under way
	id     string
	number int
	closed bool
	// said is the conversation, for a CLI that keeps none itself.
	said []ChatMessage
	// proc is the live process between prompts, rested ends its rest and waits for it.
	proc     *process
	greeting Greeting
	rested   func()
}

// Open prepares a conversation. Nothing is started before the first prompt.
func Open(p Provider, o Options) (*Session, error) {
	o.Limits = o.Limits.filled()
	if o.Dir == "" {
		o.Dir = "."
	}
	dir, err := filepath.Abs(o.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot work in %s: %v", o.Dir, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot work in %s: it is no directory", o.Dir)
	}
	o.Dir = dir
	if o.Home != "" {
		if o.Home, err = filepath.Abs(o.Home); err != nil {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use %s as a home: %v", o.Home, err)
		}
	}
	if o.Profile.Home != "" {
		o.Home = o.Profile.Home
	}
	return &Session{p: p, o: o, id: o.Session, said: o.Messages}, nil
}

// ID is the conversation's name by which it can be resumed, empty before the agent gave it one.
func (s *Session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Prompt runs one prompt; see [Run] for what it gives.
func (s *Session) Prompt(ctx context.Context, prompt string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			yield(Event{}, substrat.Errorf(substrat.CodeConflict, "cannot prompt: the session is closed"))
			return
		}
		s.number++
		r := &run{s: s, prompt: prompt, yield: yield}
		result, err := r.all(ctx)
		switch {
		case r.left:
		case err != nil:
			yield(Event{}, err)
		default:
			yield(Event{Type: EventResult, Session: result.Session, Result: &result, Offset: r.offset}, nil)
		}
	}
}

// Close ends the process of a live session. The conversation can be resumed by its id where the CLI keeps it.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.drop()
	return nil
}

// drop ends the live process, if there is one.
func (s *Session) drop() {
	s.wake()
	if s.proc != nil {
		s.proc.end(s.o.Limits.Grace)
		s.proc = nil
	}
}

// rest reads what a live process says between prompts, so that it is answered and never blocks.
func (s *Session) rest(live LiveProvider) {
	proc := s.proc
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			f, err := proc.ReadFrame(ctx)
			if err != nil {
				return
			}
			if reply := live.Stray(f.Data); reply != nil {
				_ = proc.WriteFrame(ctx, reply)
			}
		}
	}()
	s.rested = func() { cancel(); <-done }
}

func (s *Session) wake() {
	if s.rested != nil {
		s.rested()
		s.rested = nil
	}
}

// request is what the provider is asked for.
func (s *Session) request(ctx context.Context, prompt, home string) Request {
	o := s.o
	req := Request{
		Prompt: prompt, Session: s.id, Model: o.Model, Dir: o.Dir, Home: home, Secret: o.Secret, Mode: o.Mode, Args: o.Args, MCP: o.MCP,
		Deny: o.Deny, Instructions: o.Instructions, Program: o.Program, Bare: true, Messages: s.said, Profile: o.Profile.Name,
	}
	if o.Tools != nil {
		req.Tools = promptTools{o.Tools, ctx}
	}
	if o.Ask != nil {
		// A person who is asked is let go when the prompt is cancelled, however long the agent takes to end.
		req.Ask = func(turn context.Context, q Question) (Answer, error) {
			turn, cancel := context.WithCancel(turn)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			return o.Ask(turn, q)
		}
	}
	if _, live := s.p.(LiveProvider); live {
		req.Live = &LiveTurn{
			ID: fmt.Sprintf("prompt-%d-%d", s.number, time.Now().UnixNano()), Number: s.number, Tools: noTools{},
			Messages: []Mail{{ID: fmt.Sprint(s.number), From: "USER", Kind: substrat.KindUser, Text: prompt}},
			History:  func(func(PastTurn) error) error { return nil }, Greeting: s.greeting,
		}
	}
	return req
}

// promptTools ends calls with the prompt: the conversation goes on a little longer.
type promptTools struct {
	ToolSet
	prompt context.Context
}

// Call implements ToolSet.
func (t promptTools) Call(ctx context.Context, c Call) (Call, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.prompt, cancel)()
	return t.ToolSet.Call(ctx, c)
}

// noTools refuses: a program that runs by itself is in no team.
type noTools struct{}

// Call implements Tools.
func (noTools) Call(_ context.Context, c Call) (Call, error) {
	c.Error = substrat.Errorf(substrat.CodeUnsupported, "there is no tool %q here: the program is in no team", c.Tool)
	return c, nil
}

// Answered implements Tools.
func (noTools) Answered() {}
