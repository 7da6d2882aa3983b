package top

import (
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	for _, c := range [][2]string{
		{"plain text\nof two lines", "plain text\nof two lines"},
		{"a\tb\rc\x00d\x7f", "a bcd"},
		{"\x1b[31mred\x1b[0m \x1b[2J\x1b[1;1Hhome", "red home"},
		{"\x1b]0;title\x07x\x1b]52;c;aGk=\x1b\\y", "xy"},
		{"\u009b31mred\u009d0;title\u009cx", "redx"},
		{"\x1bPq#0\x1b\\sixel \x1b_apc\x1b\\!", "sixel !"},
		{"\x1b]0;never ends", "]0;never ends"},
		{"\x1b", ""},
		{"abc\u202edef\u2066\u200b\ufeff\U000e0041", "abcdef"},
		{"\xff\xfe ok", " ok"},
		{"e" + strings.Repeat("\u0301", 100), "e" + strings.Repeat("\u0301", mostMarks)},
		{"line\u2028sep\u00a0nbsp", "line sep nbsp"},
		{"日本語 ünï", "日本語 ünï"},
	} {
		if got := clean(c[0]); got != c[1] {
			t.Errorf("clean(%q) = %q, not %q", c[0], got, c[1])
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		s    string
		w    int
		want string
	}{
		{"hello", 5, "hello"}, {"hello", 4, "hel…"}, {"hello", 1, "…"}, {"hello", 0, ""}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"},
		{"日本語", 4, "日…"}, {"日", 1, "…"}, {"", 3, ""},
	} {
		if got := fit(c.s, c.w); got != c.want {
			t.Errorf("fit(%q, %d) = %q, not %q", c.s, c.w, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	got := strings.Join(wrap("  one two three four\n\nfive", 10, 10), "|")
	if want := "  one two|  three|  four||five"; got != want {
		t.Errorf("wrapped to %q, not %q", got, want)
	}
	if n := len(wrap(strings.Repeat("x\n", 100), 10, 7)); n != 7 {
		t.Errorf("%d lines, not 7", n)
	}
}

// hostile draws texts that terminals may stumble over.
func hostile() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom(nil, unicode.Cf, unicode.Mn, unicode.So, unicode.Han, unicode.Regional_Indicator)),
		rapid.SampledFrom([]string{"\x1b[31m", "\x1b]0;x\x07", "\x1b", "\u009b2J", "👩‍👩‍👧", "🇩🇪", "1️⃣", "\u202e", "日本", "\t", "\n", "\r\n", "\xff", "한", "ᄒ", "ก็", "\u115f", "─"}))
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "") })
}

func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := hostile().Draw(t, "s"), rapid.IntRange(0, 40).Draw(t, "w")
		for _, r := range clean(s) {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("%q is left of %q", r, s)
			}
		}
		for _, out := range append(wrap(s, w, 5), fit(line(s), w), pad(line(s), w), right(line(s), w)) {
			if got := max(ansi.StringWidth(out), ansi.StringWidthWc(out)); got > w {
				t.Fatalf("%q is %d wide, more than %d", out, got, w)
			}
			if strings.Contains(out, "\n") {
				t.Fatalf("%q has a line break", out)
			}
		}
	})
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x1b]0;t\x07")
	f.Fuzz(func(t *testing.T, s string) {
		if out := clean(s); strings.ContainsAny(out, "\x1b\u009b\u009d\x00\x7f\r") {
			t.Errorf("%q became %q", s, out)
		}
	})
}
