package sim

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// memory is what later steps may refer to.
type memory struct {
	prompt    string // without the scripts
	messageID string
	last      string         // text of the last tool result
	lastJSON  jsontext.Value // the last MCP result, where that was a JSON object
}

// expand replaces {{last}}, {{last.FIELD}}, {{prompt}} and {{message_id}}; other braces stay. Inside a script within the
// text nothing is replaced: those words are for the agent that will run it. What was put in is not looked at again.
func (m *memory) expand(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	var out strings.Builder
	for {
		before, after, ok := strings.Cut(text, scriptOpen)
		out.WriteString(m.replace(before))
		if !ok {
			return out.String()
		}
		end := closing(after)
		if end < 0 {
			out.WriteString(scriptOpen + after)
			return out.String()
		}
		end += len(scriptClose)
		out.WriteString(scriptOpen + after[:end])
		text = after[end:]
	}
}

func (m *memory) replace(text string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{{")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		name, after, closed := strings.Cut(rest, "}}")
		value, known := m.lookup(strings.TrimSpace(name))
		if !closed || !known {
			out.WriteString("{{")
			text = rest
			continue
		}
		out.WriteString(value)
		text = after
	}
}

func (m *memory) lookup(name string) (string, bool) {
	switch name {
	case "last":
		return m.last, true
	case "prompt":
		return m.prompt, true
	case "message_id":
		return m.messageID, true
	}
	path, ok := strings.CutPrefix(name, "last.")
	if !ok {
		return "", false
	}
	return fieldText(m.lastJSON, path), true
}

// fieldText gives what a dotted path leads to: a string as it is, other values as JSON, nothing where it leads nowhere.
func fieldText(value jsontext.Value, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		list, ok := members(value)
		if !ok {
			return ""
		}
		value = get(list, name)
	}
	return plainText(value)
}

// plainText gives a JSON string's text, and other values as they are written.
func plainText(value jsontext.Value) string {
	if value.Kind() != '"' {
		return string(value)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

// messageID finds the id of the message the prompt presents: "(to message <id>)" before "[message <id>]".
func messageID(prompt string) string {
	for _, mark := range []struct{ before, end string }{{"(to message ", ")"}, {"[message ", "] "}} {
		_, rest, ok := strings.Cut(prompt, mark.before)
		if !ok {
			continue
		}
		if end := strings.IndexAny(rest, mark.end+"\n"); end > 0 {
			return rest[:end]
		}
	}
	return ""
}
