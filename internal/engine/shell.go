package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/resource"
	sh "substrat.dev/substrat/internal/shell"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/turn"
	"substrat.dev/substrat/internal/workspace"
)

// ShellAsk is what a person wants to run in an agent's sandbox.
type ShellAsk struct {
	// Argv is the command; empty means a shell.
	Argv []string `json:"argv,omitempty"`
	// Keys gives it what the configuration gives the agent's provider.
	Keys bool `json:"keys,omitempty"`
	// Terminal says that it has a terminal, Term what kind.
	Terminal bool   `json:"terminal,omitempty"`
	Term     string `json:"term,omitempty"`
}

type (
	// ShellPlan is what the person's side starts.
	ShellPlan = sh.Plan
	// ShellNote is what it tells of that.
	ShellNote = sh.Note
)

// ShellUse starts the command and returns when it has ended, or ctx has. It tells the first process of the sandbox.
type ShellUse func(ctx context.Context, p ShellPlan, entered func(ShellNote)) error

// shellPrefix begins the names of directories that shells have for their time, and their processes' marks.
const shellPrefix = "shell-"

// Shell makes an agent's sandbox ready outside of the agent's turns, and keeps what it needs for as long as use takes. Then nothing
// of it is left: neither processes, nor groups, nor places in the workspace.
func (e *Engine) Shell(ctx context.Context, ref string, ask ShellAsk, use ShellUse) error {
	ctx, leave, err := e.shells.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	dir, err := os.MkdirTemp(e.cfg.Home, shellPrefix)
	if err != nil {
		return wrapIO("make a directory for the shell", err)
	}
	r, a, sock, err := e.aside(ctx, ref, filepath.Base(dir), dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return err
	}
	var plan sh.Plan
	defer func() { e.endShell(dir, plan.Support, plan.Path, a.living) }()
	if plan, err = r.shellPlan(ctx, a, ask, sock); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errShells
	}
	inside := func(n sh.Note) {
		if ns, ok := turn.PIDNamespaceOf(n.PID); ok {
			e.shells.add(r.agent, r.turn, ns)
		}
	}
	defer e.shells.drop(r.turn)
	return use(ctx, plan, inside)
}

// shellPlan makes what a turn would find, and says how a person's command is started there.
func (r *runner) shellPlan(ctx context.Context, a *attempt, ask ShellAsk, sock string) (p sh.Plan, err error) {
	if a.agent.Dir, a.links, err = settleIn(ctx, a.living); err != nil {
		return p, err
	}
	if a.git, err = gitBinds(a.living); err != nil {
		return p, err
	}
	if ask.Keys {
		sources, _ := r.e.cfg.Rules.Surroundings(a.agent.Provider)
		if a.keys.env, err = r.e.fetch(ctx, sources); err != nil {
			return p, err
		}
	}
	cmd, err := r.asideCommand(a, ask.Keys)
	if err != nil {
		return p, err
	}
	if sock != "" {
		r.aside = sock
	} else if err := os.MkdirAll(r.aside, 0o700); err != nil {
		return p, wrapIO("make a directory for the shell", err)
	}
	cmd.Argv = shellArgv(ask)
	spec, err := r.spec(a, cmd)
	if err != nil {
		return p, err
	}
	p = sh.Plan{
		ID: r.turn, Argv: spec.Argv, Options: spec.Options, Net: spec.Net, Support: spec.Bounds.Support, Path: spec.Bounds.Path,
		Env: append(withTerm(spec.Env, ask.Term), turn.Marker+"="+r.turn),
	}
	return p, nil
}

func shellArgv(ask ShellAsk) []string {
	argv, kind := ask.Argv, sh.Plain
	if len(argv) == 0 {
		argv, kind = []string{"/bin/sh"}, sh.Interactive
	}
	if !ask.Terminal {
		return argv
	}
	return append([]string{insideBin + "/substrat", sh.Command, kind}, argv...)
}

// withTerm tells programs what the person's terminal is.
func withTerm(env []string, term string) []string {
	if term == "" || len(term) > 64 || strings.ContainsAny(term, "\x00\n/") {
		return env
	}
	out := make([]string, 0, len(env)+2)
	for _, v := range env {
		if !strings.HasPrefix(v, "TERM=") {
			out = append(out, v)
		}
	}
	return append(out, "TERM="+term)
}

// endTimeShell bounds how long the end of a shell may take.
const endTimeShell = 10 * time.Second

// endShell sees to it that nothing is left of a shell, whatever became of who started it.
func (e *Engine) endShell(dir string, support resource.Support, path []resource.Node, l team.Living) {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeShell)
	defer cancel()
	err := turn.ReapMarked(ctx, filepath.Base(dir))
	if group, openErr := support.Open(path); err == nil && openErr == nil {
		err = group.Kill(ctx)
		group.Remove()
	}
	if err != nil {
		// What it shows stays for it; the next daemon looks again.
		e.cfg.Log.Error("cannot end a shell", "shell", filepath.Base(dir), "error", err)
		return
	}
	e.releaseDirs(dir)
	_ = os.RemoveAll(dir)
	if l.Tree != nil {
		if _, err := workspace.Heal(l.Tree.Repo); err != nil {
			e.cfg.Log.Error("cannot heal a repository after a shell", "repository", l.Tree.Repo, "error", err)
		}
	}
}

// sweepShells ends what a dead daemon left.
func (e *Engine) sweepShells() {
	dirs, _ := filepath.Glob(filepath.Join(e.cfg.Home, shellPrefix+"*"))
	for _, dir := range dirs {
		e.adoptDirs(dir)
		e.endShell(dir, resource.Support{}, nil, team.Living{})
	}
}

// openShells are those that are in use. The zero value is ready.
type openShells struct {
	mu     sync.Mutex
	closed bool
	open   map[*context.CancelFunc]struct{}
	spaces map[string]space // by shell
	wg     sync.WaitGroup
}

// space is a sandbox's pid namespace.
type space struct {
	agent string
	ns    uint64
}

var errShells = substrat.Errorf(substrat.CodeUnavailable, "the daemon is stopping")

// enter begins a use, which ends when ctx does or the daemon.
func (s *openShells) enter(ctx context.Context) (use context.Context, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errShells
	}
	if s.open == nil {
		s.open = map[*context.CancelFunc]struct{}{}
	}
	use, cancel := context.WithCancel(ctx)
	s.open[&cancel] = struct{}{}
	s.wg.Add(1)
	return use, func() {
		cancel()
		s.mu.Lock()
		delete(s.open, &cancel)
		s.mu.Unlock()
		s.wg.Done()
	}, nil
}

// end ends all uses and waits for them.
func (s *openShells) end() {
	s.mu.Lock()
	s.closed = true
	for cancel := range s.open {
		(*cancel)()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *openShells) add(agent, shell string, ns uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spaces == nil {
		s.spaces = map[string]space{}
	}
	s.spaces[shell] = space{agent, ns}
}

func (s *openShells) drop(shell string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.spaces, shell)
}

// of lists an agent's.
func (s *openShells) of(agent string) []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []uint64
	for _, x := range s.spaces {
		if x.agent == agent {
			out = append(out, x.ns)
		}
	}
	return out
}
