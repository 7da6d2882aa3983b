package render

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// OneLine shows the beginning of a text on one line, at most so many columns of it.
func OneLine(s string, most int) string {
	return cutTo(Printable(strings.Join(strings.Fields(s), " ")), most)
}

// colours are the sequences that programs colour their output with. They are the only ones that are dropped silently.
var colours = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// settled gives a line of a program's output as a terminal would leave it: what a carriage return overwrote is gone.
func settled(line string) string {
	line = strings.TrimRight(colours.ReplaceAllString(line, ""), "\r")
	return Printable(line[strings.LastIndexByte(line, '\r')+1:])
}

// clusterWidth is how many columns a cluster takes. Terminals differ in how they count joined characters; the larger
// count never overflows.
func clusterWidth(cluster string, width int) int {
	if strings.HasPrefix(cluster, "\ufe0f") {
		return 1 // cut off from the character it widens
	}
	return max(width, ansi.StringWidthWc(cluster))
}

// columns is the width of a text without line breaks, by the same count.
func columns(s string) int {
	sum := 0
	for s != "" {
		cluster, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s, sum = s[len(cluster):], sum+clusterWidth(cluster, w)
	}
	return sum
}

// cutTo gives the beginning of a printable line, in so many columns.
func cutTo(s string, most int) string {
	col, fits := 0, 0 // fits is how much of s leaves a column for the sign that there is more
	for at := 0; at < len(s); {
		cluster, w := ansi.FirstGraphemeCluster(s[at:], ansi.GraphemeWidth)
		at += len(cluster)
		if col += clusterWidth(cluster, w); col > most {
			return s[:fits] + "…"
		}
		if col < most {
			fits = at
		}
	}
	return s
}

// chop cuts a line into pieces no wider than width, keeping its blanks: for code. Tabs become blanks.
func chop(line string, width int) []string {
	if width <= 0 {
		return []string{line}
	}
	line = strings.ReplaceAll(line, "\t", "    ")
	var out []string
	var b strings.Builder
	col := 0
	for line != "" {
		cluster, w := ansi.FirstGraphemeCluster(line, ansi.GraphemeWidth)
		line = line[len(cluster):]
		w = clusterWidth(cluster, w)
		if col > 0 && col+w > width {
			out = append(out, b.String())
			b.Reset()
			col = 0
		}
		b.WriteString(cluster)
		col += w
	}
	return append(out, b.String())
}

// flow wraps words to a width while they come in pieces. It holds back the last word, of which more may come.
type flow struct {
	put   func(string)
	width int // 0 does not wrap
	col   int // columns written on this line
	gap   int // blanks owed before the next word
	word  strings.Builder
	wordW int
}

func (f *flow) add(s string) {
	if f.width <= 0 {
		f.put(s)
		if i := strings.LastIndexByte(s, '\n'); i >= 0 {
			f.col, s = 0, s[i+1:]
		}
		f.col += len(s)
		return
	}
	for s != "" {
		cluster, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[len(cluster):]
		switch w = clusterWidth(cluster, w); {
		case cluster == "\n":
			f.flush()
			f.put("\n")
			f.col, f.gap = 0, 0
		case cluster == " ":
			f.flush()
			f.gap = min(f.gap+1, f.width)
		case cluster == "\t":
			f.flush()
			f.gap = min(f.gap+4-(f.col+f.gap)%4, f.width)
		default:
			if w > 1 || f.wordW+w > f.width {
				f.flush() // wide scripts have no blanks to break at
			}
			f.word.WriteString(cluster)
			f.wordW += w
			if w > 1 {
				f.flush()
			}
		}
	}
}

// flush writes the word that is held back.
func (f *flow) flush() {
	if f.word.Len() == 0 {
		return
	}
	switch {
	case f.col > 0 && f.col+f.gap+f.wordW > f.width:
		f.put("\n")
		f.col, f.gap = 0, 0
	case f.col == 0:
		f.gap = min(f.gap, max(0, f.width-f.wordW))
	}
	f.put(strings.Repeat(" ", f.gap) + f.word.String())
	f.col += f.gap + f.wordW
	f.gap, f.wordW = 0, 0
	f.word.Reset()
}

// end closes the line, if one is open.
func (f *flow) end() {
	f.flush()
	if f.col > 0 {
		f.put("\n")
	}
	f.col, f.gap = 0, 0
}

// wrapped gives the lines of a text, none wider than width.
func wrapped(text string, width int) []string {
	var b strings.Builder
	f := flow{put: func(s string) { b.WriteString(s) }, width: width}
	f.add(text)
	f.flush()
	return strings.Split(b.String(), "\n")
}
