// Package engine carries out what a team decided: it makes facts durable, folds them, and closes the difference between
// the state and what is running. It joins provider, sandbox and turn, which do not know each other.
//
// One loop owns every team's state. It takes the commands that wait, decides each against the state as it will be,
// makes all their events durable in one transaction, and only then answers. There is no other writer. A second loop
// compares the state with what is running: an open turn without a runner gets one (the same road for a new turn and
// for one that a dead daemon left behind), a runner whose turn is no longer open is ended, a free slot goes to the agent
// that may run. Neither holds anything that is not derivable from the journal and the turn directories.
//
// The engine never decides what may happen (that is team's), never parses what an agent prints (agentcli's), and never
// signals a process itself (turn's).
package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/redact"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/resource"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/turn"
)

// Config is what an engine needs. All fields but Rules are required.
type Config struct {
	// Home is the daemon's directory, absolute: agents/, turns/ and bin/ below it are the engine's.
	Home    string
	Version string
	// Exe is the substrat binary, absolute: it is the agents' command line and the simulator. Shim is the program that is the shim,
	// the steps of a sandbox and the relay: the small one, or Exe again.
	Exe, Shim string
	// Resources is what keeps the bounds of turns on this machine.
	Resources resource.Support
	Slots     int
	Rules     Rules
	Providers []agentcli.Provider
	Log       *slog.Logger
}

// Engine runs the teams of one daemon.
type Engine struct {
	cfg     Config
	journal journal.Journal
	epoch   int64
	// pins says that bwrap mounts what was opened for it.
	pins      bool
	providers map[string]agentcli.Provider
	started   time.Time
	// launcher starts turns from shims that run already; it lives as long as Run.
	launcher *turn.Launcher
	// etc is what sandboxes show as /etc, empty if it could not be prepared.
	etc string
	// meters bound the agents' calls of tools.
	meters  *meters
	indexer indexer
	// overlaps are the files that several agents change.
	overlaps *overlaps
	// flagged are the files that users were told of, for as long as several agents may have written them.
	flagged   map[string]struct{}
	flaggedMu sync.Mutex
	// secrets are the values that nobody is to see: those of this process's own environment, and what turns were given.
	secrets redact.Set
	// toolCounts are those of the configured MCP servers.
	toolCounts toolCounts
	requests   chan *request
	kicks      chan struct{}

	// mu guards what the commit loop owns. It is held for writing from the first decision of a batch until the batch is
	// durable, so that nobody reads what might still be lost.
	mu sync.RWMutex
	// names guards teams and index while they change, which is short. It lets a name be resolved while a batch is on its
	// way to the disk, so that the next batch gathers meanwhile: what a name stands for is checked again by the command.
	// It is taken after mu.
	names sync.RWMutex
	teams map[string]*team.State
	index index
	// hot are the teams that may need a turn, a timer or a runner.
	hot map[string]struct{}
	// accounts is what the providers let pass and what not.
	accounts accounts
	// served is when each team was last given a turn.
	served map[string]time.Time
	// debt counts a team's events since its snapshot.
	debt      map[string]int
	totalDebt int
	seq       int64
	changed   chan struct{}

	// runMu guards the runners and the configuration directories they share.
	runMu    sync.Mutex
	runners  map[string]*runner
	dirs     map[spot]*sharedDir
	draining bool
	wg       sync.WaitGroup

	// liveMu guards the sessions, by agent.
	liveMu   sync.Mutex
	sessions map[string]*session

	shells openShells

	stop     chan struct{}
	stopOnce sync.Once
}

// Open loads every team from the journal. Run starts the work and, at its end, closes what Open opened.
func Open(ctx context.Context, cfg Config, j journal.Journal) (*Engine, error) {
	if cfg.Rules == nil {
		cfg.Rules = NoRules{}
	}
	e := &Engine{
		cfg: cfg, journal: j, started: time.Now(),
		providers: map[string]agentcli.Provider{},
		meters:    newMeters(),
		overlaps:  newOverlaps(),
		served:    map[string]time.Time{},
		requests:  make(chan *request, 1024),
		kicks:     make(chan struct{}, 1),
		changed:   make(chan struct{}),
		runners:   map[string]*runner{},
		dirs:      map[spot]*sharedDir{},
		sessions:  map[string]*session{},
		stop:      make(chan struct{}),
	}
	e.cfg.Shim = cmp.Or(cfg.Shim, cfg.Exe)
	e.learn(os.Environ())
	e.cfg.Log = slog.New(quiet{cfg.Log.Handler(), &e.secrets})
	for _, p := range cfg.Providers {
		e.providers[p.Info().Name] = p
	}
	lease, err := j.Lease(ctx, "daemon", time.Hour)
	if err != nil {
		return nil, err
	}
	e.epoch = lease.Epoch
	if err := e.load(ctx); err != nil {
		return nil, err
	}
	e.prepareEtc()
	e.pins = sandbox.CanPin(ctx)
	e.openIndex(ctx)
	return e, nil
}

// Run works until ctx ends or Shutdown, and returns when every goroutine has. Running turns go on in their shims.
// An error means the journal can no longer be trusted to be durable: the process must exit and recover from disk.
func (e *Engine) Run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.launcher = turn.NewLauncher(e.cfg.Shim, min(e.cfg.Slots, spareShims))
	defer func() { err = errors.Join(err, e.launcher.Close()) }()
	e.sweep(ctx)
	e.findLive(ctx)
	if e.indexer.x != nil {
		defer func() { err = errors.Join(err, e.indexer.x.Close()) }()
		e.wg.Go(func() { e.indexLoop(ctx) })
	}
	committed, reconciled := make(chan error, 1), make(chan struct{})
	// The commit loop outlives the rest: runners that end during a drain still have outcomes to record.
	loopCtx, stopLoop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		err := e.commitLoop(loopCtx)
		if err != nil {
			cancel(err)
		}
		committed <- err
	}()
	go func() { defer close(reconciled); e.reconcileLoop(ctx) }()
	e.kick()
	select {
	case <-ctx.Done():
	case <-e.stop:
	}
	cancel(errStopped)
	<-reconciled
	e.shells.end()
	e.wg.Wait()
	stopLoop()
	err = <-committed
	if err == nil {
		err = e.saveSnapshots(context.WithoutCancel(ctx), 1)
	}
	return err
}

// prepareEtc readies the files that all sandboxes share. Without them sandboxes show the host's, which takes longer.
// Each daemon makes its own: a turn that a daemon before started may be about to mount the one of that time.
func (e *Engine) prepareEtc() {
	all := filepath.Join(e.cfg.Home, "etc")
	etc := filepath.Join(all, e.NewID())
	forgotten, err := os.ReadDir(all)
	if err == nil {
		for _, d := range forgotten {
			if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > etcKept {
				_ = os.RemoveAll(filepath.Join(all, d.Name()))
			}
		}
	}
	if err := sandbox.PrepareEtc(etc); err != nil {
		e.cfg.Log.Warn("sandboxes start more slowly", "error", err)
		return
	}
	e.etc = etc
}

// etcKept is how long a turn may take to be mounted.
const etcKept = time.Hour

// spareShims is how many shims wait for a turn: what a reply and the turn it wakes take before there are new ones.
const spareShims = 2

var errStopped = errors.New("the daemon is stopping")

// Shutdown ends Run. Mode "leave" leaves running turns to their shims, "drain" waits for them and starts no new ones,
// "cancel" ends them first. It returns at once.
func (e *Engine) Shutdown(mode string) {
	if mode == "leave" || mode == "" {
		e.stopOnce.Do(func() { close(e.stop) })
		return
	}
	e.runMu.Lock()
	e.draining = true
	e.runMu.Unlock()
	if mode == "cancel" {
		go e.cancelAll()
	}
	e.kick()
}

// cancelAll asks every open turn to end. It has no owner to wait for it: it ends with the commit loop.
func (e *Engine) cancelAll() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, o := range e.openTurns() {
		_, _ = e.Do(ctx, o.team, team.Meta{}, team.Cancel{Agent: o.agent})
	}
}

// NewID makes the id of an agent, a message or a turn: a UUID version 7, so that ids sort by time.
func (e *Engine) NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Info describes a running engine.
type Info struct {
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	Slots     int       `json:"slots"`
	// Turns counts open turns, Agents live agents, Teams live teams. Seq is the journal's last event.
	Turns  int   `json:"turns"`
	Agents int   `json:"agents"`
	Teams  int   `json:"teams"`
	Seq    int64 `json:"seq"`
	// Draining says that no new turns start.
	Draining bool `json:"draining"`
}

// Info tells what is going on now.
func (e *Engine) Info() Info {
	draining := e.isDraining()
	e.mu.RLock()
	defer e.mu.RUnlock()
	return Info{
		Version: e.cfg.Version, StartedAt: e.started, Slots: e.cfg.Slots, Turns: e.countOpen(), Agents: len(e.index.team),
		Teams: len(e.teams), Seq: e.seq, Draining: draining,
	}
}

// CheckProvider tells what network a provider's agents get, or that no agent can have it: there is none of that name, or it
// wants a command, which only the user gives.
func (e *Engine) CheckProvider(name string) (substrat.Network, error) {
	if p := e.providers[name]; p != nil && p.Info().NeedsProgram {
		return "", substrat.Errorf(substrat.CodeForbidden, "cannot use provider %s: only the user names programs", name).
			WithHint("ask the user to create it; or leave the provider out to spawn more of your own kind")
	}
	return e.checkProgram(name, nil)
}

// checkProgram is CheckProvider for a person, who may give a command.
func (e *Engine) checkProgram(name string, command []string) (substrat.Network, error) {
	p, ok := e.providers[name]
	if ok && p.Info().NeedsProgram != (len(command) > 0) {
		if len(command) > 0 {
			return "", substrat.Errorf(substrat.CodeInvalid, "cannot give a command to provider %s: it has a program of its own", name).
				WithHint("leave the command out, or use provider scripted")
		}
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot use provider %s without a command", name).WithHint("--command ./program")
	}
	if !ok {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot use provider %.40q: not known", name).WithHint("one of: %s", e.providerNames())
	}
	if p.Info().Network {
		return substrat.NetworkDoor, nil
	}
	return substrat.NetworkNone, nil
}
