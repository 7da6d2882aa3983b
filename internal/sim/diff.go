package sim

import (
	"fmt"
	"strings"
)

// diff is a change to a file in the unified form, with the doubled slashes of the real program and without a last line
// end.
type diff struct {
	added, removed int
	text           string
}

// contextLines stand around a hunk.
const contextLines = 3

// diffFiles makes one hunk out of all between the first and the last line that differ.
func diffFiles(path, before, after string, isNew bool) diff {
	from := "a/" + path
	if isNew {
		from = "/dev/null"
	}
	old, fresh := splitLines(before), splitLines(after)
	head := commonPrefix(old, fresh)
	tail := commonSuffix(old[head:], fresh[head:])
	first := max(head-contextLines, 0)
	after3 := min(tail, contextLines)
	oldEnd, newEnd := len(old)-tail, len(fresh)-tail

	lines := []string{"--- " + from, "+++ b/" + path}
	if oldEnd > head || newEnd > head {
		lines = append(lines, fmt.Sprintf("@@ -%s +%s @@", span(first, oldEnd+after3, isNew), span(first, newEnd+after3, false)))
	}
	lines = appendLines(lines, " ", old[first:head])
	lines = appendLines(lines, "-", old[head:oldEnd])
	lines = appendLines(lines, "+", fresh[head:newEnd])
	if oldEnd > head || newEnd > head {
		lines = appendLines(lines, " ", old[oldEnd:oldEnd+after3])
	} else {
		lines = lines[:2]
	}
	return diff{newEnd - head, oldEnd - head, strings.Join(lines, "\n")}
}

// span writes the lines [from, to) of a hunk's header. One line is written without its count, and the nothing before a
// new file as 1,0, as recorded.
func span(from, to int, isNew bool) string {
	switch n := to - from; {
	case isNew:
		return "1,0"
	case n == 1:
		return fmt.Sprint(from + 1)
	case n == 0:
		return fmt.Sprintf("%d,0", from)
	default:
		return fmt.Sprintf("%d,%d", from+1, n)
	}
}

func appendLines(lines []string, mark string, more []string) []string {
	for _, line := range more {
		lines = append(lines, mark+line)
	}
	return lines
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
