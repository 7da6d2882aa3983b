// Package daemon is one running daemon: its home, its lock, its sockets, and the order in which things start and stop.
// It wires the parts together and owns no rule of theirs.
package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/api"
	"substrat.dev/substrat/internal/config"
	"substrat.dev/substrat/internal/engine"
	"substrat.dev/substrat/internal/journal/sqlite"
	"substrat.dev/substrat/internal/resource"
	"substrat.dev/substrat/internal/sock"
	"substrat.dev/substrat/internal/tool"
)

// Config is what a daemon is started with.
type Config struct {
	// Home is an absolute directory, made if missing.
	Home    string
	Version string
	// Slots is how many provider processes may run at once. 0 means what the configuration says, else 4.
	Slots int
	Log   *slog.Logger
	// API is how the API is reached over TCP; what is set goes before the configuration.
	API config.API
	// Ready is called once the control socket answers.
	Ready func()
}

// DefaultSlots is how many turns run at once when nobody says otherwise: a coding agent takes 0.2 to 1 GB.
const DefaultSlots = 4

// Run serves until ctx ends, a shutdown is asked for, or the journal fails for good. Turns that run then go on in their
// shims.
func Run(ctx context.Context, cfg Config) error {
	if err := prepareHome(cfg.Home); err != nil {
		return err
	}
	// What lies in it is opened by paths without links.
	real, err := filepath.EvalSymlinks(cfg.Home)
	if err != nil {
		return substrat.Errorf(substrat.CodeStorage, "cannot use %s: %v", cfg.Home, err)
	}
	cfg.Home = real
	configured, err := config.Load(ConfigPath(cfg.Home))
	if err != nil {
		return err
	}
	for _, n := range []int{configured.Slots.Total, DefaultSlots} {
		if cfg.Slots <= 0 {
			cfg.Slots = n
		}
	}
	lock, err := takeLock(cfg.Home)
	if err != nil {
		return err
	}
	defer lock.release()
	over, err := listenRemote(ctx, &cfg, configured.API)
	if err != nil {
		return err
	}
	defer over.close()
	exe, shim, err := placeBinaries(ctx, cfg.Home, cfg.Version, cfg.Log)
	if err != nil {
		return err
	}
	j, err := sqlite.Open(ctx, filepath.Join(cfg.Home, "journal.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	bounds := resource.Detect("").Prepare(instance(cfg.Home))
	bounds.Sweep()
	defer func() {
		bounds.Sweep()
		_ = bounds.Discard() // turns that go on are still in it
	}()
	e, err := engine.Open(ctx, engine.Config{
		Home: cfg.Home, Version: cfg.Version, Exe: exe, Shim: shim, Resources: bounds, Slots: cfg.Slots, Rules: rules{c: configured}, Providers: providers(), Log: cfg.Log,
	}, j)
	if err != nil {
		return errors.Join(err, j.Close())
	}
	l, err := sock.Listen(SocketPath(cfg.Home))
	if err != nil {
		return errors.Join(err, j.Close())
	}
	cfg.Log.Info("resources", "mode", bounds.Mode, "detail", bounds.Detail)
	cfg.Log.Info("daemon started", "home", cfg.Home, "version", cfg.Version, "slots", cfg.Slots, "pid", os.Getpid())
	err = serve(ctx, cfg, e, l, over)
	cfg.Log.Info("daemon stopped", "error", err)
	return errors.Join(err, j.Close())
}

// serve runs the engine and the control API until the engine ends.
func serve(ctx context.Context, cfg Config, e *engine.Engine, l net.Listener, over overTCP) error {
	handler := api.New(api.Config{
		Engine: e, Version: cfg.Version, Socket: SocketPath(cfg.Home), URL: over.url(),
		MCP: func(ctx context.Context, ref string, conn io.ReadWriteCloser) error {
			return operate(ctx, e, ref, conn)
		},
	})
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	srv.BaseContext = func(net.Listener) context.Context { return ctx }
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ownOnly{l, cfg.Log}) }()
	servedTCP := over.serve(ctx, handler, cfg.Log)
	if cfg.Ready != nil {
		cfg.Ready()
	}
	err := e.Run(ctx)
	// The socket goes first, so that nobody is taken in who would not be served.
	cancel()
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	over.shutdown(grace)
	<-servedTCP
	if srv.Shutdown(grace) != nil {
		_ = srv.Close()
	}
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

// instance names the daemon of a home among those of a machine.
func instance(home string) string {
	sum := sha256.Sum256([]byte(home))
	return hex.EncodeToString(sum[:6])
}

// operate lets a person speak an agent's tools over the control socket.
func operate(ctx context.Context, e *engine.Engine, ref string, conn io.ReadWriteCloser) error {
	a, err := e.Agent(ctx, ref)
	if err != nil {
		return err
	}
	return tool.Serve(ctx, e, tool.Caller{Team: a.Team, Agent: a.ID, Operator: true, Name: a.Path}, conn)
}

// ownOnly lets only this user's processes, and root's, connect, and of these none that is behind the walls of a turn. The socket's mode says the same; this holds also where
// the directory was opened up by mistake.
type ownOnly struct {
	net.Listener
	log *slog.Logger
}

func (l ownOnly) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := sock.PeerUID(c)
		walled := false
		if err == nil && uid == os.Geteuid() {
			walled, err = engine.Walled(c)
		}
		if err == nil && !walled && (uid == os.Geteuid() || uid == 0) {
			return c, nil
		}
		l.log.Warn("refused a connection", "uid", uid, "from a turn", walled, "error", err)
		_ = c.Close()
	}
}

// SocketPath is where the control socket of a home is.
func SocketPath(home string) string { return filepath.Join(home, "daemon.sock") }

// Home finds the daemon's directory: $SUBSTRAT_HOME, else ~/.substrat. The answer is absolute.
func Home(getenv func(string) string) (string, error) {
	if h := getenv("SUBSTRAT_HOME"); h != "" {
		return filepath.Abs(h)
	}
	h := getenv("HOME")
	if h == "" {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot find a home: neither SUBSTRAT_HOME nor HOME is set")
	}
	return filepath.Join(h, ".substrat"), nil
}
