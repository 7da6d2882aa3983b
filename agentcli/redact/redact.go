// Package redact takes secrets out of text on its way to a log or a person: those it is told of, and what looks like one.
//
// It owns what counts as a secret. It never changes text around one, and leaves prose, paths, UUIDs and hashes alone.
// Looking through clean text is one pass without an allocation.
package redact

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// knownLeast is the length below which a known value is taken for a word: it would be found everywhere.
const knownLeast = 6

// Redactor finds secrets. The zero one knows none and finds those that look like one. It is safe for concurrent use.
type Redactor struct {
	known []string
	// longest is the length of the longest known one.
	longest int
}

// New makes a Redactor that also knows these values, in the forms that JSON and addresses give them. Values of fewer
// than six bytes are passed over.
func New(known ...string) *Redactor {
	r := &Redactor{}
	for _, k := range known {
		k = strings.TrimSpace(k)
		if len(k) < knownLeast {
			continue
		}
		r.add(k)
		if quoted, err := json.Marshal(k); err == nil {
			r.add(string(quoted[1 : len(quoted)-1]))
		}
		r.add(url.QueryEscape(k))
	}
	// A value that contains another is found first.
	slices.SortFunc(r.known, func(a, b string) int { return len(b) - len(a) })
	return r
}

func (r *Redactor) add(k string) {
	if !slices.Contains(r.known, k) {
		r.known = append(r.known, k)
		r.longest = max(r.longest, len(k))
	}
}

// plain is the one without known values.
var plain = &Redactor{}

// String takes out what looks like a secret.
func String(s string) string { return plain.String(s) }

// Tokens takes out what is a secret wherever it stands: tokens that are known by their form, and private keys. What only a
// name says to be one stays, so that text which somebody acts on keeps its meaning.
func Tokens(s string) string {
	found := scanFor(s, false)
	if len(found) == 0 {
		return s
	}
	return string(replace(nil, s, found))
}

// String gives s with a mark in place of each secret; s itself if it has none.
func (r *Redactor) String(s string) string {
	found := r.find(s)
	if len(found) == 0 {
		return s
	}
	return string(replace(nil, s, found))
}

// span is where a secret stands.
type span struct{ from, to int }

func replace(out []byte, s string, found []span) []byte {
	at := 0
	for _, f := range found {
		out = append(out, s[at:f.from]...)
		out = append(out, Mark...)
		at = f.to
	}
	return append(out, s[at:]...)
}

// find gives the secrets of s in order, none over another.
func (r *Redactor) find(s string) []span {
	found := scan(s)
	for _, k := range r.known {
		for at := 0; ; {
			i := strings.Index(s[at:], k)
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(k)})
			at += i + len(k)
		}
	}
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	merged := found[:1]
	for _, f := range found[1:] {
		last := &merged[len(merged)-1]
		if f.from < last.to {
			last.to = max(last.to, f.to)
			continue
		}
		merged = append(merged, f)
	}
	return merged
}
