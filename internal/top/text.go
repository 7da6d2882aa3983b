package top

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// sequence matches the escape sequences that terminals act on. One that does not end is left: its escape character is
// taken out like any other, so that what follows it is seen and not acted on.
var sequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x1b\x07\u009c]*(?:\x07|\x1b\\\\|\u009c)")
})

// mostBytes is how much of one text is looked at: a screen has no room for more.
const mostBytes = 64 << 10

// mostMarks is how many combining marks one character may carry.
const mostMarks = 3

// clean makes text from elsewhere harmless on a terminal: escape sequences, control characters, and characters that
// change the order of others or hide are taken out. Line breaks stay; tabs become spaces.
func clean(s string) string {
	if len(s) > mostBytes {
		s = s[:mostBytes]
	}
	if plain(s) {
		return s
	}
	s = sequence().ReplaceAllString(s, "")
	var b strings.Builder
	marks := 0
	for _, r := range s {
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t', unicode.Is(unicode.Z, r):
			b.WriteByte(' ')
		case hidden(r), marks > mostMarks:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain reports whether a text has printable ASCII and line breaks only, as most have.
func plain(s string) bool {
	for i := range len(s) {
		if (s[i] < ' ' && s[i] != '\n') || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// hidden reports whether a character is not to reach a terminal. Variation selectors are among them because terminals
// do not agree on how wide they make a character.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) ||
		r == utf8.RuneError || r >= 0xE0000 && r <= 0xE0FFF
}

// line is the clean beginning of a text on one line.
func line(s string) string {
	if len(s) > mostBytes {
		s = s[:mostBytes]
	}
	return strings.Join(strings.Fields(clean(s)), " ")
}

// width is how many columns a clean text takes. Terminals differ; this is what the wider of two common ways says.
func width(s string) int {
	if plain(s) {
		return len(s)
	}
	return max(ansi.StringWidth(s), ansi.StringWidthWc(s))
}

// head is the longest beginning of a text that fits, and the rest.
func head(s string, w int) (fits, rest string) {
	used := 0
	for i := 0; i < len(s); {
		cluster, _ := ansi.FirstGraphemeCluster(s[i:], ansi.GraphemeWidth)
		n := width(cluster)
		if used+n > w {
			return s[:i], s[i:]
		}
		used += n
		i += max(1, len(cluster))
	}
	return s, ""
}

// fit cuts a clean text to a width and says so by an ellipsis.
func fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if width(s) <= w {
		return s
	}
	dots := "…"
	s, _ = head(s, w-width(dots))
	if width(s)+width(dots) > w {
		return s
	}
	return s + dots
}

// pad makes a clean text exactly so wide.
func pad(s string, w int) string {
	s = fit(s, w)
	return s + strings.Repeat(" ", max(0, w-width(s)))
}

// right is pad with the text at the right.
func right(s string, w int) string {
	s = fit(s, w)
	return strings.Repeat(" ", max(0, w-width(s))) + s
}

// wrap breaks a text into lines that fit, at spaces where there are some, and gives at most so many. What is broken stays
// as far to the right as it began, so that no text can put anything of its own at the beginning of a line.
func wrap(s string, w, most int) []string {
	var out []string
	if w <= 0 {
		return nil
	}
	for l := range strings.SplitSeq(strings.TrimRight(clean(s), "\n"), "\n") {
		indent, text := "", strings.TrimLeft(l, " ")
		if n := len(l) - len(text); n < w/2 {
			indent = l[:n]
		}
		for {
			if len(out) >= most {
				return out
			}
			first, rest := head(text, w-len(indent))
			if rest != "" && first == "" {
				first, rest = "?", "" // one character that is wider than the line
			}
			if cut := strings.LastIndexByte(first, ' '); rest != "" && rest[0] != ' ' && cut > len(first)/2 {
				first, rest = text[:cut], text[cut:]
			}
			out = append(out, strings.TrimRight(indent+first, " "))
			if text = strings.TrimLeft(rest, " "); text == "" {
				break
			}
		}
	}
	return out
}

// ago tells how long before now something was.
func ago(now, t time.Time) string {
	d := max(0, now.Sub(t))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
