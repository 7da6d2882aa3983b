package relay

import (
	"bytes"
	"encoding/json"
	"errors"
)

// message is what the relay looks at in a line. Everything else passes unseen.
type message struct {
	// id tells messages apart: a string and a number never have the same. Empty means there is none, or null.
	id string
	// raw is the id as the message has it.
	raw    []byte
	method string
	params []byte
	fault  []byte // the error of an answer
}

// space is what may surround a JSON text.
const space = " \t\r\n"

var errNotMessage = errors.New("not a JSON-RPC message")

// look reads the members of a line that is one JSON object.
func look(line []byte) (m message, err error) {
	line = bytes.Trim(line, space)
	if !json.Valid(line) {
		return m, errors.New("not JSON")
	}
	if line[0] != '{' {
		return m, errNotMessage
	}
	members(line, func(key string, value []byte) {
		switch key {
		case "id":
			m.raw = value
		case "method":
			m.method, _ = text(value)
		case "params":
			m.params = value
		case "error":
			m.fault = value
		}
	})
	m.id, err = canonical(m.raw)
	return m, err
}

// canonical makes an id comparable: the peer may escape a string in another way.
func canonical(raw []byte) (string, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "", nil
	case raw[0] == '"':
		s, err := text(raw)
		return `"` + s, err
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return string(raw), nil
	default:
		return "", errNotMessage
	}
}

// cancels gives the id that a notifications/cancelled names.
func (m *message) cancels() (id string) {
	if len(m.params) > 0 && m.params[0] == '{' {
		members(m.params, func(key string, value []byte) {
			if key == "requestId" {
				id, _ = canonical(value)
			}
		})
	}
	return id
}

// refused reports whether an answer is the daemon's word that this relay may not speak, and the word itself.
func (m *message) refused() (why string, ok bool) {
	if m.id != "" || len(m.fault) == 0 || m.fault[0] != '{' {
		return "", false
	}
	members(m.fault, func(key string, value []byte) {
		switch key {
		case "code":
			ok = string(value) == codeRefused
		case "message":
			why, _ = text(value)
		}
	})
	return why, ok
}

// text reads a JSON string.
func text(raw []byte) (s string, err error) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", errNotMessage
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}

// members calls f with each member of a valid JSON object, in order. Values keep their form.
func members(object []byte, f func(key string, value []byte)) {
	for i := 1; ; {
		if i = blank(object, i); object[i] == '}' {
			return
		}
		end := value(object, i)
		key, _ := text(object[i:end])
		i = blank(object, blank(object, end)+1)
		end = value(object, i)
		f(key, object[i:end])
		if i = blank(object, end); object[i] == ',' {
			i++
		}
	}
}

// blank skips white space.
func blank(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' {
		i++
	}
	return i
}

// value gives the end of the value of valid JSON that begins at i.
func value(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = quoted(b, i)
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// quoted gives the index of the quote that ends the string beginning at i.
func quoted(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}
