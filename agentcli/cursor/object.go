package cursor

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"substrat.dev/substrat"
)

// members calls f for each member of a JSON object, until f says to stop. What is no object has none.
func members(v jsontext.Value, f func(name string, value jsontext.Value) bool) {
	if len(v) == 0 || v[0] != '{' {
		return
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(v), relaxed...)
	if _, err := d.ReadToken(); err != nil {
		return
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			return
		}
		key := str(name)
		value, err := d.ReadValue()
		if err != nil || !f(key, value) {
			return
		}
	}
}

// elements calls f for each element of a JSON array. What is no array has none.
func elements(v jsontext.Value, f func(jsontext.Value)) {
	if len(v) == 0 || v[0] != '[' {
		return
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(v), relaxed...)
	if _, err := d.ReadToken(); err != nil {
		return
	}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return
		}
		f(value)
	}
}

// fields reads the members of an object by name. It is for payloads, not for every event.
type fields map[string]jsontext.Value

func fieldsOf(v jsontext.Value) fields {
	out := fields{}
	members(v, func(name string, value jsontext.Value) bool { out[name] = value; return true })
	return out
}

// str gives the first of some members that is a string and not empty.
func (f fields) str(names ...string) string {
	for _, n := range names {
		if s := str(f[n]); s != "" {
			return s
		}
	}
	return ""
}

// messageText puts together the text parts of a message, without separators: parts are cut anywhere.
func messageText(v jsontext.Value) string {
	if len(v) > 0 && v[0] == '"' {
		return str(v)
	}
	var content jsontext.Value
	members(v, func(name string, value jsontext.Value) bool {
		if name == "content" {
			content = value
			return false
		}
		return true
	})
	return contentText(content)
}

// contentText reads content that is a string, or a list of parts.
func contentText(v jsontext.Value) string {
	if len(v) > 0 && v[0] == '"' {
		return str(v)
	}
	var one string
	var b strings.Builder
	n := 0
	elements(v, func(part jsontext.Value) {
		f := partText(part)
		if n++; n == 1 {
			one = f
			return
		}
		if n == 2 {
			b.WriteString(one)
		}
		b.WriteString(f)
	})
	if n == 1 {
		return one
	}
	return b.String()
}

// partText reads the text of one part: {"type":"text","text":…}, or {"text":{"text":…}} as in MCP results.
func partText(v jsontext.Value) string {
	var out string
	members(v, func(name string, value jsontext.Value) bool {
		if name != "text" {
			return true
		}
		if out = str(value); out == "" {
			out = fieldsOf(value).str("text")
		}
		return false
	})
	return out
}

// firstText gives the first value that holds text, as a string, a message or an object with an error in it.
func firstText(values ...jsontext.Value) string {
	for _, v := range values {
		if s := str(v); s != "" {
			return s
		}
		if s := messageText(v); s != "" {
			return s
		}
		if s := fieldsOf(v).str("message", "error", "errorMessage"); s != "" {
			return s
		}
	}
	return ""
}

// usage reads the tokens of a turn; builds before 2026.07 do not tell.
func usage(v jsontext.Value) *substrat.Usage {
	if len(v) == 0 || v[0] != '{' {
		return nil
	}
	f := fieldsOf(v)
	return &substrat.Usage{
		InputTokens: integer(f["inputTokens"]), OutputTokens: integer(f["outputTokens"]),
		CacheReadTokens: integer(f["cacheReadTokens"]), CacheWriteTokens: integer(f["cacheWriteTokens"]),
	}
}
