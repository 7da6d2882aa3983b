package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"substrat.dev/substrat"
)

// printable shows text from elsewhere on a terminal: control characters, and characters that change the order or hide, are
// written out. Line breaks and tabs stay.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != '\u200d', r >= 0xE0000 && r <= 0xE007F:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// oneLine shows the beginning of a text in a table.
func oneLine(s string, most int) string {
	s = printable(strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// table prints rows in columns.
func (a *app) table(rows [][]string) {
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	_ = w.Flush()
}

// loud writes what a person should not overlook in capitals.
func loud(word string, bad bool) string {
	if bad {
		return strings.ToUpper(word)
	}
	return word
}

func boxed(x substrat.Agent) string { return loud(string(x.Sandbox), x.Sandbox == substrat.NoSandbox) }

func netted(x substrat.Agent) string {
	return loud(string(x.Network), x.Network == substrat.NetworkHost)
}

// age tells how long ago something was.
func age(t time.Time) string {
	d := time.Since(t)
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

// count writes a number with its noun: "1 message", "2 messages".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
