package agentcli

import (
	"context"
	"errors"
	"strings"

	"substrat.dev/substrat"
)

// Teller is a provider whose process tells which conversations it keeps, for CLIs whose files nobody else can read.
type Teller interface {
	Provider
	// TellSessions asks a process that has just started. A CLI that cannot tell is an error of code unsupported.
	TellSessions(ctx context.Context, conn Conn, req Request) ([]StoredSession, error)
}

// Sessions starts a CLI to ask which conversations it keeps, and ends it. Of the options those count that say where and
// with what it runs; with Dir only the conversations of that workspace are asked for, where the CLI tells them apart.
func Sessions(ctx context.Context, p Teller, o Options) (list []StoredSession, err error) {
	s, err := Open(p, o)
	if err != nil {
		return nil, err
	}
	plan, err := s.plan(ctx, "")
	if err != nil {
		return nil, err
	}
	proc, err := startProcess(plan, s.o.Limits)
	if err != nil {
		return nil, err
	}
	defer proc.end(s.o.Limits.Grace)
	timed, cancel := context.WithTimeout(ctx, GreetMost)
	defer cancel()
	list, err = p.TellSessions(timed, proc, plan.request)
	if errors.Is(err, EOF) {
		proc.stop(0)
		class, detail := p.Diagnose(plan.request, Result{}, proc.exit())
		return nil, substrat.Errorf(substrat.CodeUnsupported, "cannot ask the agent for its conversations: %s: %s", class, strings.TrimSpace(detail))
	}
	return list, err
}
