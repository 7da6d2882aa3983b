package turnjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// The sentinels of the fallback transport.
const (
	sentinelStart = "__JSON_START__"
	sentinelEnd   = "__JSON_END__"
)

// blockMost bounds what stands between two sentinels.
const blockMost = 16 << 20

// framer puts frames together from lines.
type framer struct {
	open  bool
	block []byte
}

// errFraming are the mistakes in the use of sentinels.
var (
	errNested   = errors.New(sentinelStart + " inside a block that has not ended")
	errNoStart  = errors.New(sentinelEnd + " without " + sentinelStart)
	errNoEnd    = errors.New("the output ended between " + sentinelStart + " and " + sentinelEnd)
	errTooLarge = errors.New("a block between sentinels is larger than 16 MiB")
)

// line takes a line and gives the frame that it completes, nil for none. The frame is valid until the next line.
func (f *framer) line(data []byte) ([]byte, error) {
	trimmed := bytes.TrimSpace(data)
	switch {
	case string(trimmed) == sentinelStart:
		if f.open {
			return nil, errNested
		}
		f.open, f.block = true, f.block[:0]
		return nil, nil
	case string(trimmed) == sentinelEnd:
		if !f.open {
			return nil, errNoStart
		}
		f.open = false
		if block := bytes.TrimSpace(f.block); len(block) > 0 {
			return block, nil
		}
		return []byte("(an empty block)"), nil
	case f.open:
		if len(f.block)+len(data) > blockMost {
			return nil, errTooLarge
		}
		f.block = append(append(f.block, data...), '\n')
		return nil, nil
	case len(trimmed) == 0:
		return nil, nil
	}
	return trimmed, nil
}

// finish tells whether the output may end here.
func (f *framer) finish() error {
	if f.open {
		return errNoEnd
	}
	return nil
}

// frame is one event as it was printed. Members are looked at when their type says what they are to be.
type frame struct {
	Type      string          `json:"type"`
	Data      json.RawMessage `json:"data"`
	Version   json.RawMessage `json:"version"`
	Subtype   json.RawMessage `json:"subtype"`
	Session   json.RawMessage `json:"session_id"`
	Model     json.RawMessage `json:"model"`
	Message   json.RawMessage `json:"message"`
	Text      json.RawMessage `json:"text"`
	ToolCall  json.RawMessage `json:"tool_call"`
	CallID    json.RawMessage `json:"call_id"`
	ModelCall json.RawMessage `json:"model_call_id"`
	Timestamp json.RawMessage `json:"timestamp_ms"`
	IsError   json.RawMessage `json:"is_error"`
	Result    json.RawMessage `json:"result"`
	Usage     json.RawMessage `json:"usage"`
	Duration  json.RawMessage `json:"duration_ms"`

	raw []byte
	end int64
}

// parse reads a frame: an object with a type.
func parse(data []byte) (frame, error) {
	f := frame{raw: data}
	if len(data) == 0 || data[0] != '{' {
		return f, errors.New("it is no JSON object")
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, errors.New("it is no JSON object with a type")
	}
	if f.Type == "" {
		return f, errors.New("it has no type")
	}
	return f, nil
}

// str gives a JSON string's text, empty for anything else.
func str(raw json.RawMessage) string {
	s, _ := text(raw)
	return s
}

// text gives a JSON string's text, and whether it is one.
func text(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// integer gives a JSON number's value if it is a whole one from zero on.
func integer(raw json.RawMessage) (int64, bool) {
	var n int64
	if len(raw) == 0 || raw[0] == 'n' || json.Unmarshal(raw, &n) != nil || n < 0 {
		return 0, false
	}
	return n, true
}

// object gives the members of a JSON object, nil for anything else.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// messageText joins the text of a message, exactly as its parts have it, and tells whether it is a message.
func messageText(raw json.RawMessage) (string, bool) {
	m := object(raw)
	if s, ok := text(m["content"]); ok {
		return s, true
	}
	var parts []map[string]json.RawMessage
	if len(m["content"]) == 0 || json.Unmarshal(m["content"], &parts) != nil {
		return "", false
	}
	var b strings.Builder
	for _, p := range parts {
		if kind := str(p["type"]); kind == "text" || kind == "" || kind == "thinking" {
			b.WriteString(str(p["text"]))
		}
	}
	return b.String(), true
}
