package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"substrat.dev/substrat"
)

const readers = 4

// Open opens the journal at path, or makes it (0600, in a directory made 0700 if there is none), and brings an older
// schema up to date. Errors: CodeInvalid for a file that is not a journal, which is left as it is; CodeVersion for one
// that a newer version wrote; CodeStorage for a damaged one or a disk that refuses.
func Open(ctx context.Context, path string, opts Options) (*Journal, error) {
	opts.fill()
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, storage("open the journal", err)
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	j := &Journal{path: path, opts: opts, turn: make(chan struct{}, 1), stop: make(chan struct{})}
	j.wal.init()
	if err := j.connect(ctx); err != nil {
		return nil, j.classifyOpen(err)
	}
	j.turn <- struct{}{}
	j.folding.Go(j.foldWhenQuiet)
	return j, nil
}

func (o *Options) fill() {
	if o.Busy <= 0 {
		o.Busy = 5 * time.Second
	}
	if o.CheckpointBytes <= 0 {
		o.CheckpointBytes = 16 << 20
	}
	if o.CheckpointIdle <= 0 {
		o.CheckpointIdle = time.Second
	}
	if o.fault == nil {
		o.fault = func(string) error { return nil }
	}
	if o.now == nil {
		o.now = time.Now
	}
}

// prepareFile sees to it that path is a regular file that only its owner can read. It never opens a file that exists:
// closing any descriptor of it would drop the locks that another journal of this process holds on it.
func prepareFile(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return createFile(path)
	case err != nil:
		return storage("open the journal", err)
	case !info.Mode().IsRegular():
		return substrat.Errorf(substrat.CodeInvalid, "cannot open the journal %s: it is not a regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(path, 0o600); err != nil {
			return storage("open the journal", err)
		}
	}
	return writable(path)
}

// writable asks before SQLite does, which only says that it cannot open the file, whatever the cause.
func writable(path string) error {
	for _, p := range []string{path, filepath.Dir(path)} {
		if err := unix.Access(p, unix.W_OK); err != nil {
			return storage("open the journal", fmt.Errorf("write %s: %w", p, err))
		}
	}
	return nil
}

// createFile makes an empty file whose name is durable before anything in it is acknowledged.
func createFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return storage("make the journal", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another opener was faster
	}
	if err != nil {
		return storage("make the journal", err)
	}
	if err := f.Close(); err != nil {
		return storage("make the journal", err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := syncDir(d); err != nil {
			return storage("make the journal", err)
		}
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a directory above ours that we may not read was not made by us either
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

func (j *Journal) connect(ctx context.Context) (err error) {
	opened := []*sql.DB{}
	open := func(conns int, settings ...string) *sql.DB {
		db, e := sql.Open("sqlite", dsn(j.path, j.opts.Busy, settings...))
		if e != nil {
			err = errors.Join(err, e)
			return nil
		}
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		opened = append(opened, db)
		return db
	}
	defer func() {
		if err != nil {
			for _, db := range opened {
				_ = db.Close()
			}
		}
	}()
	// The safety net behind foldWhenQuiet: at 64 Ki pages (256 MiB) the writer folds the WAL itself.
	write := open(1, "_txlock=immediate", "_pragma=wal_autocheckpoint(65536)")
	j.folder = open(1, "_pragma=wal_autocheckpoint(0)")
	j.read = open(readers, "_pragma=query_only(1)")
	if err != nil {
		return err
	}
	if err := prepareDatabase(ctx, write, j.path); err != nil {
		return err
	}
	if j.write, err = newWriter(ctx, write); err != nil {
		return err
	}
	if err := j.write.probe(ctx); err != nil {
		return err
	}
	return j.read.PingContext(ctx)
}

// prepareDatabase changes nothing before it knows that the file is ours.
func prepareDatabase(ctx context.Context, db *sql.DB, path string) error {
	version, err := identify(ctx, db, path)
	if err != nil {
		return err
	}
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return substrat.Errorf(substrat.CodeStorage,
			"cannot open the journal %s: the file system gives no write-ahead log", path).
			WithHint("put the state directory on a local file system")
	}
	return migrate(ctx, db, version)
}

// dsn names the file and the settings of a connection in the driver's form. mode=rw: SQLite never makes the file, so its
// permissions are ours. The WAL is cut back to 64 MiB when it starts over.
func dsn(path string, busy time.Duration, settings ...string) string {
	all := append([]string{
		"mode=rw", fmt.Sprintf("_pragma=busy_timeout(%d)", busy.Milliseconds()),
		"_pragma=synchronous(FULL)", "_pragma=journal_size_limit(67108864)",
	}, settings...)
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + strings.Join(all, "&")
}
