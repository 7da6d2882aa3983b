package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/render"
)

// printable shows text from elsewhere on a terminal, which must not obey it.
func printable(s string) string { return render.Printable(s) }

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

func boxed(x substrat.Agent) string {
	return loud(string(x.Sandbox), x.Sandbox.Holds() < substrat.Bubblewrap.Holds())
}

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
