package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Set is what a program knows of secrets while it runs: values are added and never forgotten. The zero one knows none.
// It is safe for concurrent use.
type Set struct {
	known  atomic.Pointer[Known]
	mu     sync.Mutex
	values []string
	has    map[string]bool
}

// setMost bounds a set: values beyond it take the place of the oldest.
const setMost = 512

// Add learns values. Those that are too short to be told from words are passed over.
func (s *Set) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has == nil {
		s.has = map[string]bool{}
	}
	more := false
	for _, v := range values {
		if v = strings.TrimSpace(v); len(v) >= knownLeast && !s.has[v] {
			s.values, s.has[v], more = append(s.values, v), true, true
		}
	}
	if !more {
		return
	}
	for len(s.values) > setMost {
		delete(s.has, s.values[0])
		s.values = s.values[1:]
	}
	s.known.Store(NewKnown(s.values...))
}

// Values gives what was added.
func (s *Set) Values() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values)
}

// Known is what the set knows by now.
func (s *Set) Known() *Known { return s.known.Load() }

// Text takes out what is known.
func (s *Set) Text(text string) string { return s.Known().Text(text) }

// Shown takes out what is known and what looks like a secret, of a text that is shown or kept.
func (s *Set) Shown(text string) string { return String(s.Text(text)) }

// ShownJSON is like Shown for a JSON value, which stays one.
func (s *Set) ShownJSON(data []byte) []byte { return s.inJSON(data, sure, String) }

// ActedJSON takes what is known out of a JSON value that somebody acts on, and [Tokens].
func (s *Set) ActedJSON(data []byte) []byte { return s.inJSON(data, never, Tokens) }

// never is a weight that no name has.
const never = sure + 1

func (s *Set) inJSON(data []byte, least weight, clean func(string) string) []byte {
	known := s.Known().Bytes(data)
	text := string(known)
	out := clean(text)
	if out == text {
		return known
	}
	if json.Valid([]byte(out)) || !json.Valid(known) {
		return []byte(out)
	}
	d := json.NewDecoder(bytes.NewReader(known))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return []byte(`"` + Mark + `"`)
	}
	if data, err := json.Marshal(walk("", v, least, clean)); err == nil {
		return data
	}
	return []byte(`"` + Mark + `"`)
}

// walk takes secrets out of the strings of a decoded value. Name is what it is called in what holds it.
func walk(name string, v any, least weight, clean func(string) string) any {
	switch v := v.(type) {
	case string:
		if v != "" && weigh(name) >= least && !stands(v) {
			return Mark
		}
		return clean(v)
	case []any:
		for i := range v {
			v[i] = walk(name, v[i], least, clean)
		}
	case map[string]any:
		for k, x := range v {
			v[k] = walk(k, x, least, clean)
		}
	}
	return v
}

// Within gives the secret parts of a variable's value: all of it where the name says so, else what looks like one.
func Within(name, value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < knownLeast || common(value) {
		return nil
	}
	if w := weigh(name); (w == sure || w == counted || w == bare && random(value)) && !stands(value) && value[0] != '/' {
		return []string{value}
	}
	var out []string
	for _, f := range scan(value) {
		if f.to-f.from >= knownLeast {
			out = append(out, value[f.from:f.to])
		}
	}
	return out
}

// common reports a value that is a word like those of which programs' formats are made: to take it out everywhere would break them.
func common(value string) bool {
	return len(value) < 12 && run(value, "abcdefghijklmnopqrstuvwxyz_") == len(value)
}

// Given is Within for a value that somebody gave a program from elsewhere, as keys are given: less says that it is secret.
func Given(name, value string) []string {
	value = strings.TrimSpace(value)
	long := len(value) >= 20 && mixed(value) && run(value, alnum) == len(value)
	if len(value) >= encodedLeast && !common(value) && value[0] != '/' && !stands(value) && (weigh(name) > nothing || random(value) || long) {
		return []string{value}
	}
	return Within(name, value)
}

// Secretive reports that the name of a variable says by itself that its value is a secret.
func Secretive(name string) bool { return weigh(name) > nothing }
