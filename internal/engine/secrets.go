package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli/redact"
	"substrat.dev/substrat/internal/secret"
	"substrat.dev/substrat/internal/tool"
)

// keys are the configured values of one turn. They are fetched when it starts and kept in memory alone.
type keys struct {
	// env is for the agent's process; launches are how its further MCP servers are started, with their own.
	env      map[string]string
	launches map[string]tool.Launch
	// headers are for those of them that are addresses.
	headers map[string]map[string]string
	// missing is why there is none, or not all.
	missing error
}

// String keeps values out of whatever prints an attempt.
func (keys) String() string { return "[keys]" }

// noKey is why a turn does not start: a key of its agent cannot be had. It is like a login that is missing.
type noKey struct{ error }

func (n noKey) Unwrap() error { return n.error }

// FailureClass classes it.
func (noKey) FailureClass() substrat.FailureClass { return substrat.ClassAuth }

// noServerKey is the same of a key of an MCP server, which has nothing to do with the provider's account.
type noServerKey struct{ error }

func (n noServerKey) Unwrap() error { return n.error }

// FailureClass classes it.
func (noServerKey) FailureClass() substrat.FailureClass { return substrat.ClassSecret }

// fetchKeys gets what the configuration gives an agent. A turn that only has to be followed to its end needs none of it
// but to know what must not be shown, so that what is missing is told where a process is to be started.
func (r *runner) fetchKeys(ctx context.Context, a *attempt) {
	sources, _ := r.e.cfg.Rules.Surroundings(a.agent.Provider)
	a.keys = keys{launches: map[string]tool.Launch{}, headers: map[string]map[string]string{}}
	var err error
	if a.keys.env, err = r.e.fetch(ctx, sources); err != nil {
		a.keys.missing = noKey{substrat.Errorf(substrat.CodeOf(err), "cannot run %s: a key of %s is missing: %s", a.path, a.agent.Provider, toError(err).Message).
			WithHint("%s", toError(err).Hint)}
		return
	}
	for _, s := range r.e.cfg.Rules.Servers(a.path, a.agent.Role) {
		env, err := r.e.fetch(ctx, s.Env)
		if err == nil {
			a.keys.headers[s.Name], err = r.e.fetchHeaders(ctx, s.Headers)
		}
		if err != nil {
			a.keys.missing = noServerKey{substrat.Errorf(substrat.CodeOf(err), "cannot run %s: a key of the MCP server %s is missing: %s", a.path, s.Name, toError(err).Message).
				WithHint("%s", toError(err).Hint)}
			return
		}
		if s.URL != "" {
			continue // nothing is started for it
		}
		a.keys.launches[s.Name] = tool.Launch{Argv: append([]string{s.Command}, s.Args...), Env: env}
	}
}

// fetch gets the values of variables, and learns what of them must never be shown.
func (e *Engine) fetch(ctx context.Context, sources map[string]secret.Source) (map[string]string, error) {
	env := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		v, err := sources[name].Value(ctx)
		if err != nil {
			return nil, err
		}
		env[name] = v.Reveal()
		e.secrets.Add(hiddenParts(name, sources[name], env[name])...)
	}
	return env, nil
}

// fetchHeaders gets the values of headers, with what stands before them.
func (e *Engine) fetchHeaders(ctx context.Context, headers map[string]Header) (map[string]string, error) {
	sources := make(map[string]secret.Source, len(headers))
	for name, h := range headers {
		sources[name] = h.Value
	}
	values, err := e.fetch(ctx, sources)
	for name := range values {
		values[name] = headers[name].Scheme + strings.TrimSpace(values[name])
	}
	return values, err
}

// hiddenParts tells what of a value is secret. What is kept in a file or a keyring is; of what comes from the environment or
// stands in the configuration, what its name says and what looks like it.
func hiddenParts(name string, from secret.Source, value string) []string {
	if from.Kept() {
		return []string{value}
	}
	if from.Literal() {
		return redact.Within(name, value)
	}
	return append(redact.Given(name, value), redact.Given(from.Variable(), value)...)
}

// learn notes what of an environment must never be shown.
func (e *Engine) learn(env []string) {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		e.secrets.Add(redact.Within(name, value)...)
	}
}

// hide takes secrets out of the arguments of a tool's call, which become messages and facts.
func (e *Engine) hide(token string) func([]byte) []byte {
	own := redact.NewKnown(token)
	return func(args []byte) []byte { return own.Bytes(e.secrets.ActedJSON(args)) }
}

// launch tells a process of the agent's how one of its MCP servers is started.
func (a *attempt) launch(_ context.Context, server string) (tool.Launch, error) {
	l, ok := a.keys.launches[server]
	switch {
	case a.keys.missing != nil:
		return l, a.keys.missing
	case !ok:
		return l, substrat.Errorf(substrat.CodeNotFound, "this agent has no MCP server %.80q", server)
	}
	return l, nil
}
