package search

import (
	"context"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Query is what is looked for.
type Query struct {
	// Words must all be there, Not none of them. A word may be a phrase; one that ends in * stands for its beginning.
	Words, Not []string
	// From, To and Agent are paths; one that ends in /** includes what is under it. Kind is message or turn.
	From, To, Agent, Kind string
	Since                 time.Time
	// Newest orders by time instead of by how well it fits.
	Newest bool
	Limit  int
}

// Parse reads a query as a person types it: words, "phrases", -words, from:, to:, agent:, kind:, since:2h. Nothing in it is
// an error of syntax but a query without a word.
func Parse(text string, now time.Time) (Query, error) {
	var q Query
	for _, word := range split(text) {
		name, value, named := strings.Cut(word, ":")
		switch {
		case named && value != "" && q.filter(name, value, now):
		case strings.HasPrefix(word, "-") && len(word) > 1:
			q.Not = append(q.Not, strings.Trim(word[1:], `"`))
		default:
			q.Words = append(q.Words, strings.Trim(word, `"`))
		}
	}
	q.Words, q.Not = speak(q.Words), speak(q.Not)
	if len(q.Words) == 0 {
		return q, substrat.Errorf(substrat.CodeInvalid, "cannot search: there is no word to look for").WithHint(`as in: substrat search parser "red error" from:lead since:2h`)
	}
	return q, nil
}

// filter takes name:value if it is one.
func (q *Query) filter(name, value string, now time.Time) bool {
	value = strings.Trim(value, `"`)
	switch name {
	case "from":
		q.From = value
	case "to":
		q.To = value
	case "agent":
		q.Agent = value
	case "kind":
		if value != "message" && value != "turn" {
			return false
		}
		q.Kind = value
	case "since":
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return false
		}
		q.Since = now.Add(-d)
	default:
		return false
	}
	return true
}

// split divides at spaces outside of quotes.
func split(text string) []string {
	var out []string
	var b strings.Builder
	quoted := false
	for _, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
			b.WriteRune(r)
		case !quoted && (r == ' ' || r == '\t' || r == '\n'):
			if b.Len() > 0 {
				out = append(out, b.String())
				b.Reset()
			}
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() > 0 {
		out = append(out, b.String())
	}
	return out
}

// wordsMost bounds a query.
const wordsMost = 50

// speak keeps the words that hold something to look for, and no more than a query may have.
func speak(words []string) []string {
	var out []string
	for _, w := range words {
		if len(out) < wordsMost && strings.ContainsFunc(w, func(r rune) bool {
			return r > 127 || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		}) {
			out = append(out, w)
		}
	}
	return out
}

// match writes the index's expression. Every word is a quoted string, so nothing in it is read as an operator.
func (q Query) match() string {
	term := func(w string) string {
		w, prefix := strings.CutSuffix(w, "*")
		s := `"` + strings.ReplaceAll(strings.ReplaceAll(w, `"`, `""`), "\x00", " ") + `"`
		if prefix {
			s += " *"
		}
		return s
	}
	var parts []string
	for _, w := range q.Words {
		parts = append(parts, term(w))
	}
	text := strings.Join(parts, " AND ")
	for _, w := range q.Not {
		text = "(" + text + ") NOT " + term(w)
	}
	return text
}

// What surrounds a match in a snippet.
const (
	MatchBegins = "\x02"
	MatchEnds   = "\x03"
)

// limitMost bounds an answer.
const limitMost = 1000

// Find gives what fits best, or is newest, first.
func (x *Index) Find(ctx context.Context, q Query) ([]substrat.Hit, error) {
	if q.Limit <= 0 {
		q.Limit = 50
	}
	where, args := "entries MATCH ?", []any{q.match()}
	path := func(columns, p string) {
		under, all := strings.CutSuffix(p, "/**")
		var any []string
		for c := range strings.SplitSeq(columns, ",") {
			any = append(any, c+" = ?")
			args = append(args, under)
			if all {
				any = append(any, "substr("+c+", 1, ?) = ?")
				args = append(args, len([]rune(under))+1, under+"/")
			}
		}
		where += " AND (" + strings.Join(any, " OR ") + ")"
	}
	if q.From != "" {
		path("sender", q.From)
	}
	if q.To != "" {
		path("recipient", q.To)
	}
	if q.Agent != "" {
		path("agent,sender,recipient", q.Agent)
	}
	if q.Kind != "" {
		where, args = where+" AND kind = ?", append(args, q.Kind)
	}
	if !q.Since.IsZero() {
		where, args = where+" AND at >= ?", append(args, q.Since.UnixMilli())
	}
	order := "rank, at DESC"
	if q.Newest {
		order = "at DESC, rank"
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	rows, err := x.db.QueryContext(ctx, "SELECT kind, id, team, agent, sender, recipient, at, snippet(entries, 0, char(2), char(3), '…', 24) FROM entries WHERE "+
		where+" ORDER BY "+order+" LIMIT ?", append(args, min(q.Limit, limitMost))...)
	if err != nil {
		return nil, wrap("read", err)
	}
	defer func() { _ = rows.Close() }()
	hits := []substrat.Hit{}
	for rows.Next() {
		var h substrat.Hit
		var at int64
		if err := rows.Scan(&h.Kind, &h.ID, &h.Team, &h.Agent, &h.From, &h.To, &at, &h.Snippet); err != nil {
			return nil, wrap("read", err)
		}
		h.At = time.UnixMilli(at).UTC()
		hits = append(hits, h)
	}
	return hits, wrap("read", rows.Err())
}
