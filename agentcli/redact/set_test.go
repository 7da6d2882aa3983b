package redact_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"substrat.dev/substrat/agentcli/redact"
)

// TestProse gives texts with secrets in two pieces, cut everywhere: the secret does not come out, and all else does.
func TestProse(t *testing.T) {
	for _, c := range canaries {
		var set redact.Set
		set.Add("opensesame-42", `say "friend" now`)
		if c.name == "known lines" || c.name == "known with quote" {
			continue // the one has a line end, the other is JSON
		}
		for i := range len(c.text) + 1 {
			p := set.Prose()
			got := p.Push(c.text[:i]) + p.Push(c.text[i:]) + p.End()
			if strings.Contains(got, c.secret) {
				t.Errorf("%s, cut at %d: %q", c.name, i, got)
			}
			if strings.Count(c.text, "\n") == 0 && got != c.want {
				t.Errorf("%s, cut at %d: %q, not %q", c.name, i, got, c.want)
			}
		}
	}
}

// TestProseKeepsText gives text without secrets in pieces: all of it comes out, and words do not wait.
func TestProseKeepsText(t *testing.T) {
	var set redact.Set
	set.Add("opensesame-42")
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.StringMatching(`[a-z \n.,é]{0,12}`)).Draw(t, "pieces")
		p, out := set.Prose(), ""
		for _, x := range pieces {
			out += p.Push(x)
		}
		if out += p.End(); out != strings.Join(pieces, "") {
			t.Fatalf("%q", out)
		}
	})
	for text, want := range map[string]string{"one two thr": "one two thr", "one two sk": "one two ", "the key: abc": "the key: ", "it is opens": "it is "} {
		if got := set.Prose().Push(text); got != want {
			t.Errorf("of %q comes %q", text, got)
		}
	}
}

// TestShownJSON keeps JSON valid whatever is taken out of it.
func TestShownJSON(t *testing.T) {
	var set redact.Set
	set.Add("opensesame-42")
	for _, text := range []string{
		`{"a":"opensesame-42","password":12345678}`, `{"k":"-----BEGIN RSA PRIVATE KEY-----\nMIIE"}`, `{"password":"a\\"}`, `{"x":["token=abcdef123"]}`, `"sk-proj-abcDEF123456ghiJKL789"`,
	} {
		got := set.ShownJSON([]byte(text))
		if !json.Valid(got) {
			t.Errorf("%s becomes %s", text, got)
		}
		for _, s := range []string{"opensesame", "MIIE", "abcdef123", "DEF123456"} {
			if strings.Contains(string(got), s) {
				t.Errorf("%s becomes %s", text, got)
			}
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        []string
	}{
		{"ANTHROPIC_API_KEY", "dummy-key-0123", []string{"dummy-key-0123"}},
		{"SUBSTRAT_TOKEN_FILE", "/run/substrat/sock/token", nil},
		{"GITHUB_TOKEN", "/path/to", nil},
		{"HTTPS_PROXY", "http://me:s3cr3tpw@proxy:1", []string{"s3cr3tpw"}},
		{"CUSTOM_HEADERS", "x-api-key: abc123def456ghi", []string{"abc123def456ghi"}},
		{"PATH", "/usr/bin:/bin", nil}, {"LANG", "C.UTF-8", nil}, {"HOME", "/home/agent", nil}, {"DB_PASSWORD", "abc", nil}, {"DB_PASSWORD", "assistant", nil},
	} {
		if got := redact.Within(c.name, c.value); !slices.Equal(got, c.want) {
			t.Errorf("%s=%s holds %q, not %q", c.name, c.value, got, c.want)
		}
	}
}
