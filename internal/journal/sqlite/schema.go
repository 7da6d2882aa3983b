package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"substrat.dev/substrat"
)

// applicationID marks a SQLite file as a journal: "Sbst" as a number.
const applicationID = 0x53627374

// migrations are the steps from an empty file to the newest schema. The version of a file (PRAGMA user_version) is the
// number of steps it has had. A released step is never changed: files in the field have had it as it was.
var migrations = []string{
	`CREATE TABLE teams (
		id    INTEGER PRIMARY KEY,
		name  TEXT NOT NULL UNIQUE,
		head  INTEGER NOT NULL,  -- team_seq of its newest event
		first INTEGER NOT NULL   -- seq of its first event that no snapshot covers, 0 if there is none
	) STRICT;
	CREATE TABLE events (
		seq      INTEGER PRIMARY KEY,
		team     INTEGER NOT NULL REFERENCES teams (id),
		team_seq INTEGER NOT NULL,
		type     TEXT NOT NULL,
		at       INTEGER NOT NULL,
		actor    TEXT NOT NULL,
		key      TEXT NOT NULL,
		sum      INTEGER NOT NULL,  -- journal.Checksum
		answer   BLOB,
		data     BLOB
	) STRICT;
	CREATE INDEX events_team ON events (team);  -- and seq, which every index ends with
	CREATE TABLE snapshots (
		team     INTEGER PRIMARY KEY REFERENCES teams (id),
		team_seq INTEGER NOT NULL,  -- the last event it covers
		sum      INTEGER NOT NULL,  -- journal.SnapshotChecksum
		data     BLOB
	) STRICT;
	CREATE TABLE docs (
		id    TEXT NOT NULL,
		kind  TEXT NOT NULL,
		team  TEXT NOT NULL,
		agent TEXT NOT NULL,
		path  TEXT NOT NULL,
		at    INTEGER NOT NULL,
		state TEXT NOT NULL,
		body  BLOB,
		PRIMARY KEY (id, kind)
	) STRICT;
	CREATE INDEX docs_kind ON docs (kind, at, id);
	CREATE INDEX docs_team ON docs (team, kind, at, id);
	CREATE INDEX docs_agent ON docs (agent, kind, at, id);
	CREATE INDEX docs_path ON docs (path, kind, at, id);
	CREATE TABLE lease (
		one    INTEGER PRIMARY KEY CHECK (one = 1),
		epoch  INTEGER NOT NULL,
		holder TEXT NOT NULL,
		until  INTEGER NOT NULL
	) STRICT;
	INSERT INTO lease VALUES (1, 0, '', 0);`,
}

// identify tells what a file is before anything is written to it: its schema version, 0 for an empty file.
func identify(ctx context.Context, db *sql.DB, path string) (int, error) {
	var id, version, tables int
	for pragma, to := range map[string]*int{
		"PRAGMA application_id": &id, "PRAGMA user_version": &version, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := db.QueryRowContext(ctx, pragma).Scan(to); err != nil {
			return 0, err
		}
	}
	switch {
	case id == 0 && version == 0 && tables == 0:
		return 0, nil
	case id != applicationID:
		return 0, foreign(path)
	case version > len(migrations):
		return 0, substrat.Errorf(substrat.CodeVersion,
			"cannot open the journal %s: it has version %d, this program knows %d", path, version, len(migrations)).
			WithHint("a newer Substrat wrote it; use that one")
	}
	return version, nil
}

func foreign(path string) error {
	return substrat.Errorf(substrat.CodeInvalid, "cannot open the journal %s: it is some other program's file", path)
}

// migrate brings a file from a version to the newest, each step in a transaction of its own.
func migrate(ctx context.Context, db *sql.DB, version int) error {
	for ; version < len(migrations); version++ {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d",
			migrations[version], applicationID, version+1))
		if err != nil {
			_ = tx.Rollback()
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}
