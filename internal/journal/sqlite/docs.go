package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

const docColumns = "SELECT kind, id, team, agent, path, at, state, body FROM docs"

// Docs implements journal.Journal.
func (j *Journal) Docs(ctx context.Context, query journal.Query) (docs []journal.Doc, next string, err error) {
	if err := j.reading(ctx); err != nil {
		return nil, "", err
	}
	limit := journal.Clamp(query.Limit, journal.DefaultDocs, journal.MaxDocs)
	text, args, err := docQuery(query)
	if err != nil {
		return nil, "", err
	}
	rows, err := j.read.QueryContext(ctx, text+" LIMIT ?", append(args, limit+1)...)
	if err != nil {
		return nil, "", j.classify("list docs", err)
	}
	defer func() { _ = rows.Close() }()
	docs, more, err := collectDocs(rows, limit)
	if err != nil {
		return nil, "", j.classify("list docs", err)
	}
	if more {
		last := docs[len(docs)-1]
		next = journal.Position{At: journal.Nanos(last.At), Kind: last.Kind, ID: last.ID}.Cursor()
	}
	return docs, next, nil
}

// docQuery makes the statement up to its limit. Every combination of fields is served by an index of the schema or by
// one and a filter; kind is first in the order of use because callers nearly always give it.
func docQuery(q journal.Query) (text string, args []any, err error) {
	var where []string
	for _, f := range [...]struct{ column, value string }{
		{"kind", q.Kind}, {"id", q.ID}, {"team", q.Team}, {"agent", q.Agent}, {"path", q.Path},
	} {
		if f.value != "" {
			where = append(where, f.column+" = ?")
			args = append(args, f.value)
		}
	}
	compare, order := " > ", " ORDER BY at, kind, id"
	if q.Newest {
		compare, order = " < ", " ORDER BY at DESC, kind DESC, id DESC"
	}
	if q.After != "" {
		p, err := journal.ParseCursor(q.After)
		if err != nil {
			return "", nil, err
		}
		where = append(where, "(at, kind, id)"+compare+"(?, ?, ?)")
		args = append(args, p.At, p.Kind, p.ID)
	}
	text = docColumns
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	return text + order, args, nil
}

// collectDocs reports more when there is a row it did not take.
func collectDocs(rows *sql.Rows, limit int) (docs []journal.Doc, more bool, err error) {
	size := 0
	for rows.Next() {
		if len(docs) == limit || size >= journal.MaxAnswerBytes {
			return docs, true, nil
		}
		d, err := scanDoc(rows.Scan)
		if err != nil {
			return nil, false, unreadable(err, "%s %q", d.Kind, d.ID)
		}
		docs = append(docs, d)
		size += len(d.Body)
	}
	return docs, false, rows.Err()
}

func scanDoc(scan func(...any) error) (d journal.Doc, err error) {
	var at int64
	err = scan(&d.Kind, &d.ID, &d.Team, &d.Agent, &d.Path, &at, &d.State, (*[]byte)(&d.Body))
	d.At = journal.Time(at)
	return d, err
}

// Doc implements journal.Journal.
func (j *Journal) Doc(ctx context.Context, kind, id string) (journal.Doc, error) {
	if err := j.reading(ctx); err != nil {
		return journal.Doc{}, err
	}
	d, err := scanDoc(j.read.QueryRowContext(ctx, docColumns+" WHERE id = ? AND kind = ?", id, kind).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return journal.Doc{}, substrat.Errorf(substrat.CodeNotFound, "cannot find %s %q", kind, id)
	}
	return d, j.classify("read a doc", err)
}
