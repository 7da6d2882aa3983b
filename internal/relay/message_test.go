package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestLook(t *testing.T) {
	cases := []struct{ line, id, method, cancels string }{
		{`{"jsonrpc":"2.0","id":1,"method":"a"}`, `1`, "a", ""},
		{` { "id" : "1" , "method" : "b" } `, `"1`, "b", ""},
		{`{"id":"\u0041\n","method":"\u0062"}`, "\"A\n", "b", ""},
		{`{"\u0069d":-7,"result":{"id":9,"method":"x"}}`, `-7`, "", ""},
		{`{"id":null,"method":"c","params":[{"id":1},"]}"]}`, "", "c", ""},
		{`{"method":"notifications/cancelled","params":{"reason":"\\\"}","requestId":"r"}}`, "", "notifications/cancelled", `"r`},
		{`{"method":"notifications/cancelled","params":{"requestId":12}}`, "", "notifications/cancelled", "12"},
		{`{"id":1,"id":2,"method":"last"}`, "2", "last", ""},
		{`{}`, "", "", ""},
	}
	for _, c := range cases {
		m, err := look([]byte(c.line))
		if err != nil || m.id != c.id || m.method != c.method || m.cancels() != c.cancels {
			t.Errorf("%s: id %q, method %q, cancels %q, %v", c.line, m.id, m.method, m.cancels(), err)
		}
	}
	for _, line := range []string{``, `{`, `nonsense`, `{"id":1}{"id":2}`, `{"id":}`} {
		if _, err := look([]byte(line)); err == nil || errors.Is(err, errNotMessage) {
			t.Errorf("%q: %v, want an error that it is not JSON", line, err)
		}
	}
	for _, line := range []string{`[]`, `7`, `"x"`, `null`, `{"id":{}}`, `{"id":true}`, `{"id":[1]}`} {
		if _, err := look([]byte(line)); !errors.Is(err, errNotMessage) {
			t.Errorf("%q: %v, want that it is no message", line, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32099,"message":"why"}}`: "why",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"why"}}`:    "",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"why"}}`: "",
		`{"jsonrpc":"2.0","id":null,"error":"why"}`:                           "",
	} {
		m, err := look([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if why, ok := m.refused(); ok != (want != "") || ok && why != want {
			t.Errorf("%s: %q, %v", line, why, ok)
		}
	}
}

// FuzzLook: whatever comes, look does not panic, and where the standard decoder reads a message it finds the same.
func FuzzLook(f *testing.F) {
	for _, s := range []string{`{"id":1,"method":"a","params":{"requestId":2}}`, `{"id":"\"","error":{"code":-32099}}`, `[{}]`, `{"a":[1,{"b":"}"}],"id":1e5}`, "{\"id\"\t:\n\"\\u00e9\"}", `{"id":1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := look(line)
		var want map[string]json.RawMessage
		if json.Unmarshal(line, &want) != nil || want == nil {
			if err == nil {
				t.Fatalf("%q was taken for a message", line)
			}
			return
		}
		if err != nil {
			return // an id of a kind that ids are not
		}
		m.refused()
		m.cancels()
		if id := want["id"]; len(id) > 0 && !bytes.Equal(bytes.TrimSpace(id), m.raw) {
			t.Fatalf("%q: id %q, want %q", line, m.raw, id)
		}
		var method string
		if json.Unmarshal(want["method"], &method) == nil && strings.ToValidUTF8(m.method, "\ufffd") != strings.ToValidUTF8(method, "\ufffd") && !strings.Contains(method, "\ufffd") {
			t.Fatalf("%q: method %q, want %q", line, m.method, method)
		}
	})
}

func TestLines(t *testing.T) {
	long, over := strings.Repeat("x", 20_000), strings.Repeat("y", 30_001)
	in := newLines(strings.NewReader("a\n\n"+long+"\n"+over+"\nb\n"+over+over+"\nlast"), 30_000)
	for _, want := range []string{"a\n", "\n", long + "\n", "", "b\n", "", "last\n"} {
		got, err := in.next()
		if want == "" && !errors.Is(err, errTooLong) || want != "" && (err != nil || string(got) != want) {
			t.Fatalf("got %.20q (%d bytes), %v; want %.20q (%d bytes)", got, len(got), err, want, len(want))
		}
	}
	if got, err := in.next(); err == nil {
		t.Errorf("after the end: %q", got)
	}
}

// FuzzLines: every byte of the stream is in a line, or in one that is too long.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"), 2)
	f.Add(bytes.Repeat([]byte("z"), 20_000), 9_000)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		if most < 8<<10 {
			most = 8 << 10 // shorter lines are in the reader's buffer whole
		}
		in := newLines(bytes.NewReader(data), most)
		var want []string
		for line := range bytes.Lines(data) {
			want = append(want, strings.TrimSuffix(string(line), "\n"))
		}
		for _, w := range want {
			got, err := in.next()
			switch {
			case len(w) > most:
				if !errors.Is(err, errTooLong) {
					t.Fatalf("a line of %d bytes: %v", len(w), err)
				}
			case errors.Is(err, errTooLong) && len(w) == most: // its newline is one too many
			case err != nil || string(got) != w+"\n":
				t.Fatalf("got %.40q, %v; want %.40q", got, err, w)
			}
		}
		if got, err := in.next(); err == nil {
			t.Fatalf("after the end: %.40q", got)
		}
	})
}
