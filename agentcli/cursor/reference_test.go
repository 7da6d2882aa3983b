package cursor

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The reference is how another parser reads the same bytes: the decoder's own scanner must agree with it on what is JSON,
// where values begin and end, and what strings mean.

var relaxed = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// referenceEnd gives the length of the value at the start of b, -1 if there is none.
func referenceEnd(b []byte) int {
	d := jsontext.NewDecoder(bytes.NewBuffer(b), relaxed...)
	if _, err := d.ReadValue(); err != nil {
		return -1
	}
	return int(d.InputOffset())
}

// sameValue walks a checked value with both parsers.
func sameValue(t *testing.T, v []byte) {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewBuffer(v), relaxed...)
	tok, err := d.ReadToken()
	if err != nil {
		t.Fatalf("the reference refuses %q: %v", v, err)
	}
	switch tok.Kind() {
	case '"':
		want, _ := jsontext.AppendUnquote(nil, v)
		if got := str(v); got != string(want) || !utf8.ValidString(got) {
			t.Fatalf("string %q is %q, want %q", v, got, want)
		}
	case '{':
		w := members(v)
		for d.PeekKind() == '"' {
			name, _ := d.ReadValue()
			wantName, _ := jsontext.AppendUnquote(nil, name)
			name = name.Clone()
			want, err := d.ReadValue()
			gotName, got, ok := w.member()
			if err != nil || !ok || !bytes.Equal(got, want) {
				t.Fatalf("member %s of %q is %q, want %q, %v", name, v, got, want, err)
			}
			if utf8.Valid(name) && string(gotName) != string(wantName) {
				t.Fatalf("name %q, want %q", gotName, wantName)
			}
			sameValue(t, bytes.Clone(got))
		}
		if _, _, ok := w.member(); ok {
			t.Fatalf("%q has more members than it should", v)
		}
	case '[':
		w := elements(v)
		for d.PeekKind() != ']' {
			want, err := d.ReadValue()
			got, ok := w.element()
			if err != nil || !ok || !bytes.Equal(got, want) {
				t.Fatalf("element of %q is %q, want %q, %v", v, got, want, err)
			}
			sameValue(t, bytes.Clone(got))
		}
		if _, ok := w.element(); ok {
			t.Fatalf("%q has more elements than it should", v)
		}
	}
}

// sameLine holds the scanner against the reference on what may be a line of a stream.
func sameLine(t *testing.T, line []byte) {
	t.Helper()
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	want := referenceEnd(line)
	if got := checkValue(line, 0, 0); got != want {
		t.Fatalf("%q ends at %d, want %d", line, got, want)
	}
	var f frame
	switch got := f.read(line); {
	case line[0] != '{':
		want = -1
		fallthrough
	default:
		if got != want {
			t.Fatalf("the object in %q ends at %d, want %d", line, got, want)
		}
	}
	if want > 0 {
		sameValue(t, line[:want])
		if skipped := skipValue(line, 0); skipped != want {
			t.Fatalf("passing over %q ends at %d, want %d", line, skipped, want)
		}
	}
}

// oddities are lines that parsers disagree about.
var oddities = []string{
	`{}`, `{ }`, `{"a":1,}`, `{"a" : [ ] , "b":[1 ,2 ]}`, `{"a":01}`, `{"a":-}`, `{"a":-0.0e+1}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":+1}`,
	`{"a":tru}`, `{"a":nullx}`, `{"a":true,"b":false,"c":null}`, `{"a":"\u12"}`, `{"a":"\ud83d\ude00 \ud83d \ude00 \ud83d\u0041"}`, `{"a":"\x"}`,
	"{\"a\":\"\x01\"}", "{\"a\":\"\xff\xc3\"}", "{\"a\":\"\xe2\x82\\n\xac\"}", `{"a\"b":1,"a\"b":2}`, `{"a":"\\"}`, `{"a":"\\\""}`, `{"a":"\\\\","b":"}"}`,
	`{"a":{"b":{"c":[{"d":"]"}]}}} {"e":1}`, `{"a":1}x`, `[1,2]`, `"x"`, `{a:1}`, `{"a":1 "b":2}`, `{"a"}`, `{"a":`, `{"a":"`, `{"":""}`, `{"a":NaN}`,
	`{"text":"` + strings.Repeat("0123456789\\n\\\"", 20) + `"}`, `{"\u0061":1}`, "{\"a\":\"\x7f\u2028\"}",
}

func TestReference(t *testing.T) {
	for _, line := range oddities {
		sameLine(t, []byte(line))
		for i := range line {
			sameLine(t, []byte(line[:i]))
		}
	}
	for _, open := range []string{"[", `{"a":`} {
		for _, depth := range []int{depthMost - 1, depthMost, depthMost + 1} {
			line := []byte(strings.Repeat(open, depth) + `1` + strings.Repeat(string(open[0]+2), depth))
			if got, want := checkValue(line, 0, 0), referenceEnd(line); got != want {
				t.Errorf("%d times %s ends at %d, want %d", depth, open, got, want)
			}
		}
	}
	for _, file := range recordings(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			sameLine(t, line)
		}
	}
}

func FuzzReference(f *testing.F) {
	for _, line := range oddities {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		sameLine(t, line)
		// What is no JSON must not be read past its end either.
		_ = skipValue(line, 0)
		_ = str(line)
		_ = hexes(line)
		for w := members(line); ; {
			if _, _, ok := w.member(); !ok {
				break
			}
		}
		for w := elements(line); ; {
			if _, ok := w.element(); !ok {
				break
			}
		}
		if json.Valid(line) && len(bytes.TrimSpace(line)) > 0 && checkValue(bytes.TrimSpace(line), 0, 0) < 0 {
			t.Errorf("%q is JSON", line)
		}
	})
}
