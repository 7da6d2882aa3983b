package agentcli

import (
	"bytes"
	"context"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Runner runs a command to its end, in a directory, and gives everything that it printed: wherever the host runs its
// agents. It bounds the command by its context; what a command printed before that counts. An error means that the command
// could not be run.
type Runner func(ctx context.Context, dir string, cmd Command) (Exit, error)

// Explainer is a provider that can look for the cause of a failure that says nothing: it tries, by run, what a person would.
// ClassAgent says that it found none.
type Explainer interface {
	Provider
	Explain(ctx context.Context, run Runner, req Request) (substrat.FailureClass, string)
}

const (
	// explainMost bounds the search for a cause, saidMost what is read of one command.
	explainMost = 30 * time.Second
	saidMost    = 1 << 20
)

// explain looks for the cause of a failure for which the process gave none. A turn that had begun keeps what was said of it
// where no cause is found: how to go on.
func (r *run) explain(ctx context.Context, req Request, result *Result, proc *process, exit Exit) {
	p, ok := r.s.p.(Explainer)
	silent := len(bytes.TrimSpace(exit.Stderr)) == 0 && len(bytes.TrimSpace(exit.Stdout)) == 0 && exit.Signal == ""
	if !ok || !r.s.o.Explain || !silent || result.Outcome != substrat.FailedTurn || result.Class != substrat.ClassAgent || ctx.Err() != nil {
		return
	}
	timed, cancel := context.WithTimeout(ctx, explainMost)
	defer cancel()
	class, detail := p.Explain(timed, r.s.runner(proc.home), req)
	if timed.Err() == nil && (class != substrat.ClassAgent || req.Session == "" && result.Session == "") {
		result.Class, result.Detail = class, detail
	}
}

// runner runs commands where the session's agent runs, and leaves nothing of them.
func (s *Session) runner(home string) Runner {
	return func(ctx context.Context, dir string, c Command) (Exit, error) {
		x := plan{request: Request{Dir: dir}, command: c, home: home}
		x.env = s.environ(x)
		limits := s.o.Limits
		limits.Output = saidMost
		p, err := startProcess(x, limits)
		if err != nil {
			return Exit{}, err
		}
		defer p.end(0)
		var said strings.Builder
		for {
			f, err := p.ReadFrame(ctx)
			if err != nil {
				break // its end, too much, or no more time: what it said before counts
			}
			said.Write(f.Data)
			said.WriteByte('\n')
		}
		grace := limits.Grace
		if ctx.Err() != nil {
			grace = 0
		}
		p.stop(grace)
		exit := p.exit()
		exit.Stdout = []byte(said.String())
		return exit, nil
	}
}
