package render

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPrintable: what is seen stays, what is not seen is written out.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\nb\tc":                "a\nb\tc",
		"\x1b[2J\a\x7f":            `\u001b[2J\u0007\u007f`,
		"\u009b31m":                `\u009b31m`,
		"a\u202eb\u2066c\u2069":    `a\u202eb\u2066c\u2069`,
		"\u200b\u200c\u2060\ufeff": `\u200b\u200c\u2060\ufeff`,
		"ok\u200d\u200d":           `ok\u200d\u200d`,
		"\U000e0041":               `\udb40\udc41`,
		"\U000e0100\U000e01ef":     `\udb40\udd00\udb40\uddef`,
		"\ufe00\u180b":             `\ufe00\u180b`,
		"\u115f\u3164\uffa0\u034f": `\u115f\u3164\uffa0\u034f`,
		"\u2028\u2029\u2800":       `\u2028\u2029\u2800`,
		"👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f": "👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f",
		"👩\u200d\u200d❤\ufe0f\ufe0e":      "👩\u200d" + `\u200d` + "❤\ufe0f\ufe0e",
		"क\u094d\u200dष é 漢 ünï":          "क\u094d\u200dष é 漢 ünï",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q is shown as %q, not %q", in, got, want)
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestSafe: however a text is cut, it comes out as it would at once, and nothing of it is obeyed but colours.
func TestSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(nasty(), rapid.SampledFrom([]string{"\x1b[31m", "\x1b[0;1m", "\x1b[", "\x1b", "\x1b[1;2;3", "\x1b[9999999999999999999999m"})), 0, 6).Draw(t, "parts")
		text := strings.Join(parts, "")
		var once, pieces strings.Builder
		a, b := &Safe{To: &once}, &Safe{To: &pieces}
		_, _ = a.Write([]byte(text))
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			_, _ = b.Write(rest[:n])
			rest = rest[n:]
		}
		_, _ = a.Close(), b.Close()
		if once.String() != pieces.String() {
			t.Fatalf("%q in pieces is %q, at once %q", text, pieces.String(), once.String())
		}
		harmless(t, sgr.ReplaceAllString(once.String(), ""))
	})
}

// TestSafeJSON: JSON is the same JSON afterwards.
func TestSafeJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(nasty().Draw(t, "text"), "?")
		var b strings.Builder
		s := &Safe{To: &b}
		enc := json.NewEncoder(s)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		harmless(t, b.String())
		var got string
		if err := json.Unmarshal([]byte(b.String()), &got); err != nil || got != text {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
	})
}
