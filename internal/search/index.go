// Package search is the full-text index over messages and transcripts: a file of its own beside the journal.
//
// It is a view. Everything in it can be made again from the journal and the turns' spools, so it takes no part in any
// promise of durability: a file that is missing, damaged or of another version is begun anew. It remembers up to which
// event of the journal it has looked, in the transaction that adds what was found there, so nothing is in it twice. It
// reads no journal and no spool itself; whoever fills it does.
package search

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"sync"
	"time"

	"modernc.org/sqlite" // the database driver, with FTS5

	"substrat.dev/substrat"
)

// version is that of the file's layout. A file of another one is begun anew.
const version = 1

const layout = `
CREATE VIRTUAL TABLE entries USING fts5(
	text, kind UNINDEXED, id UNINDEXED, team UNINDEXED, agent UNINDEXED, sender UNINDEXED, recipient UNINDEXED, at UNINDEXED,
	tokenize = 'unicode61');
CREATE TABLE position (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL) STRICT;
INSERT INTO position VALUES (1, 0);
PRAGMA user_version = 1;`

// Index is an open index. Its methods are safe for concurrent use.
type Index struct {
	path string
	mu   sync.RWMutex // held for reading while db is used
	db   *sql.DB
}

// Entry is one text to be found: a message, or what an agent did and said in a turn.
type Entry struct {
	Kind     string // "message" or "turn"
	ID, Team string
	// Agent is the path of the agent whose turn it was, From and To are those of a message. For a message MessageKind is
	// what it is for.
	Agent, From, To string
	At              time.Time
	Text            string
}

// Open opens the index at a path, or begins it anew.
func Open(ctx context.Context, path string) (*Index, error) {
	x, err := open(ctx, path)
	if err == nil {
		return x, nil
	}
	if err := Remove(path); err != nil {
		return nil, err
	}
	if x, err = open(ctx, path); err != nil {
		return nil, substrat.Errorf(substrat.CodeStorage, "cannot make the search index %s: %v", path, err)
	}
	return x, nil
}

// private makes the file, or closes it to others: what SQLite makes beside it has the same mode.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

func open(ctx context.Context, path string) (_ *Index, err error) {
	if err := private(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=rw&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = db.Close()
		}
	}()
	var is int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&is); err != nil {
		return nil, err
	}
	if is == 0 {
		if _, err := db.ExecContext(ctx, layout); err != nil {
			return nil, err
		}
	} else if is != version {
		return nil, errors.New("another version")
	}
	// A look at every page would cost a large index seconds at each start: damage further in shows when it is read.
	var seq int64
	if err := db.QueryRowContext(ctx, "SELECT seq FROM position").Scan(&seq); err != nil {
		return nil, err
	}
	return &Index{path: path, db: db}, nil
}

// Damaged reports whether an error says that the file is broken: then it is to be removed and made anew.
func Damaged(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case corrupt, notADatabase:
		return true
	default:
		return false
	}
}

// The result codes of SQLite for a broken file.
const (
	corrupt      = 11
	notADatabase = 26
)

// Remove removes the files of an index that is closed.
func Remove(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return substrat.Errorf(substrat.CodeStorage, "cannot begin the search index anew: %v", err)
		}
	}
	return nil
}

// Close closes the file.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.db.Close()
}

// Position is the last event of the journal that was looked at.
func (x *Index) Position(ctx context.Context) (seq int64, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	err = x.db.QueryRowContext(ctx, "SELECT seq FROM position").Scan(&seq)
	return seq, wrap("read", err)
}

// Add adds what was found up to an event of the journal.
func (x *Index) Add(ctx context.Context, entries []Entry, seq int64) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return wrap("write to", err)
	}
	defer func() { _ = tx.Rollback() }()
	insert, err := tx.PrepareContext(ctx, "INSERT INTO entries (text, kind, id, team, agent, sender, recipient, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return wrap("write to", err)
	}
	defer func() { _ = insert.Close() }()
	for _, e := range entries {
		if _, err := insert.ExecContext(ctx, e.Text, e.Kind, e.ID, e.Team, e.Agent, e.From, e.To, e.At.UnixMilli()); err != nil {
			return wrap("write to", err)
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE position SET seq = ?", seq); err != nil {
		return wrap("write to", err)
	}
	return wrap("write to", tx.Commit())
}

// failure keeps the cause in the chain.
type failure struct {
	said  *substrat.Error
	cause error
}

// Error implements error.
func (f failure) Error() string { return f.said.Error() }

// Unwrap gives both: what programs decide on, and what the store said.
func (f failure) Unwrap() []error { return []error{f.said, f.cause} }

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return failure{substrat.Errorf(substrat.CodeStorage, "cannot %s the search index: %v", what, err).
		WithHint("it can be removed while the daemon is stopped, and is made anew"), err}
}

// Reset removes a broken file and begins another.
func (x *Index) Reset(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.db.Close()
	if err := Remove(x.path); err != nil {
		return err
	}
	fresh, err := open(ctx, x.path)
	if err != nil {
		return wrap("make", err)
	}
	x.db = fresh.db
	return nil
}
