package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// writer is the connection that writes, with its statements. Who holds Journal.turn uses it.
type writer struct {
	db   *sql.DB
	conn *sql.Conn

	begin, commit, rollback *sql.Stmt
	state                   *sql.Stmt
	newTeam, moveTeam       *sql.Stmt
	headOf                  *sql.Stmt
	insert                  []inserter
	doc                     *sql.Stmt
	teamOf, seqOf, snapshot *sql.Stmt
	setFirst                *sql.Stmt
	lease, setLease         *sql.Stmt

	stmts []*sql.Stmt // all of them
	args  []any       // the parameters of insert, kept for the next one
}

// inserter inserts so many events with one statement.
type inserter struct {
	rows int
	stmt *sql.Stmt
}

const eventParams = 10

// newWriter takes over db and closes it if it fails.
func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	w := &writer{db: db, conn: conn}
	prepare := func(to **sql.Stmt, text string) {
		if err != nil {
			return
		}
		if *to, err = conn.PrepareContext(ctx, text); err == nil {
			w.stmts = append(w.stmts, *to)
		}
	}
	prepare(&w.begin, "BEGIN IMMEDIATE")
	prepare(&w.commit, "COMMIT")
	prepare(&w.rollback, "ROLLBACK")
	prepare(&w.state, "SELECT (SELECT epoch FROM lease), (SELECT coalesce(max(seq), 0) FROM events)")
	prepare(&w.newTeam, "INSERT INTO teams (name, head, first) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING id")
	prepare(&w.moveTeam, `UPDATE teams SET head = ?2, first = CASE first WHEN 0 THEN ?3 ELSE first END
		WHERE name = ?1 AND head = ?4 RETURNING id`)
	prepare(&w.headOf, "SELECT coalesce((SELECT head FROM teams WHERE name = ?), 0)")
	prepare(&w.doc, `INSERT INTO docs (kind, id, team, agent, path, at, state, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id, kind) DO UPDATE SET team = excluded.team, agent = excluded.agent, path = excluded.path,
		at = excluded.at, state = excluded.state, body = excluded.body`)
	prepare(&w.teamOf, `SELECT t.id, t.head, coalesce(s.team_seq, 0)
		FROM teams t LEFT JOIN snapshots s ON s.team = t.id WHERE t.name = ?`)
	prepare(&w.seqOf, "SELECT seq FROM events WHERE team = ? ORDER BY seq DESC LIMIT 1 OFFSET ?")
	prepare(&w.setFirst, "UPDATE teams SET first = ? WHERE id = ?")
	prepare(&w.snapshot, "INSERT OR REPLACE INTO snapshots (team, team_seq, sum, data) VALUES (?, ?, ?, ?)")
	prepare(&w.lease, "SELECT epoch, holder, until FROM lease")
	prepare(&w.setLease, "UPDATE lease SET epoch = ?, holder = ?, until = ?")
	for _, n := range []int{64, 16, 4, 1} {
		var s *sql.Stmt
		row := "(" + strings.Repeat("?, ", eventParams-1) + "?)"
		prepare(&s, fmt.Sprintf("INSERT INTO events (seq, team, team_seq, type, at, actor, key, sum, answer, data) VALUES %s",
			strings.Repeat(row+", ", n-1)+row))
		w.insert = append(w.insert, inserter{n, s})
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// probe finds out whether the file can be written to: SQLite opens one that cannot be without a word.
func (w *writer) probe(ctx context.Context) error {
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return err
	}
	_, err := w.rollback.ExecContext(ctx)
	return err
}

// Close closes the statements first: database/sql does not do it for statements of a sql.Conn, and SQLite keeps a file
// open, without a word, as long as one of its statements lives.
func (w *writer) Close() error {
	var all []error
	for _, s := range w.stmts {
		all = append(all, s.Close())
	}
	return errors.Join(append(all, w.conn.Close(), w.db.Close())...)
}

// transact runs body in a transaction that is durable when transact returns nil. Once it has begun it ends in
// milliseconds, so a context is asked before the commit and not obeyed within a statement: an interrupted statement
// leaves a state that is harder to tell.
func (j *Journal) transact(ctx context.Context, doing string, body func(ctx context.Context, w *writer) error) error {
	if err := j.begin(ctx); err != nil {
		return err
	}
	defer j.end()
	inner := context.WithoutCancel(ctx)
	err := j.step(inner, "begin", j.write.begin)
	if err != nil {
		return j.classifyWrite(doing, err)
	}
	if err = body(inner, j.write); err == nil {
		err = ctx.Err()
	}
	if err == nil {
		failpoint()
		err = j.step(inner, "commit", j.write.commit)
	}
	if err != nil {
		return j.undo(inner, doing, err)
	}
	failpoint()
	return nil
}

func (j *Journal) step(ctx context.Context, name string, s *sql.Stmt) error {
	if err := j.opts.fault(name); err != nil {
		return err
	}
	_, err := s.ExecContext(ctx)
	return err
}

// undo rolls back and reports why. SQLite has rolled back by itself after some errors, and then says that there is no
// transaction; an error of another kind is worse than the one that led here, and is the one to report.
func (j *Journal) undo(ctx context.Context, doing string, cause error) error {
	why := j.classifyWrite(doing, cause)
	if _, err := j.write.rollback.ExecContext(ctx); err != nil && resultCode(err) != 1 {
		return j.classifyWrite(doing, err)
	}
	return why
}
