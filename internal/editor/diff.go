package editor

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// An editor shows a change from the text before and the text after. What an agent reports is a unified diff: each of its
// hunks makes one such pair, of the lines that it shows.

// changes gives the hunks of a unified diff as an editor takes them.
func changes(path, diff string) []acp.ToolCallContent {
	var out []acp.ToolCallContent
	var before, after strings.Builder
	old, lines := false, 0
	flush := func() {
		if lines > 0 && old {
			out = append(out, acp.ToolDiffContent(path, after.String(), before.String()))
		} else if lines > 0 {
			out = append(out, acp.ToolDiffContent(path, after.String()))
		}
		before.Reset()
		after.Reset()
		old, lines = false, 0
	}
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
			flush()
		case lines == 0 && (strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")):
		case strings.HasPrefix(line, "+"):
			after.WriteString(line[1:])
			lines++
		case strings.HasPrefix(line, "-"):
			before.WriteString(line[1:])
			old = true
			lines++
		case strings.HasPrefix(line, `\`): // no newline at the end of the file
		default:
			line = strings.TrimPrefix(line, " ")
			before.WriteString(line)
			after.WriteString(line)
			old = true
			lines++
		}
	}
	flush()
	return out
}
