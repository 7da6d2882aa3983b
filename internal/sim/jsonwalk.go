package sim

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// mapStrings rewrites raw in compact form, member order kept, every string value (not the names) passed through edit.
// With a nil edit it is JSON.stringify(JSON.parse(raw)) for values whose numbers are plain.
func mapStrings(raw jsontext.Value, edit func(string) string) (jsontext.Value, error) {
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true))
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		kind, length := dec.StackIndex(dec.StackDepth())
		isName := kind == '{' && length%2 == 1
		if tok.Kind() == '"' && !isName && edit != nil {
			tok = jsontext.String(edit(tok.String()))
		}
		if err := enc.WriteToken(tok); err != nil {
			return nil, err
		}
		if dec.StackDepth() == 0 {
			return jsontext.Value(bytes.TrimSpace(out.Bytes())), nil
		}
	}
}

// member is one name and value of a JSON object, in the order of the text.
type member struct {
	name  string
	value jsontext.Value
}

// members reads a JSON object in order. ok is false for anything else.
func members(raw jsontext.Value) (list []member, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, false
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		list = append(list, member{key, value.Clone()})
	}
	tok, err := dec.ReadToken()
	return list, err == nil && tok.Kind() == '}'
}

// get gives the value of a name, nil without one.
func get(list []member, name string) jsontext.Value {
	for _, m := range list {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// getString gives a string member; "" where there is none or it is no string.
func getString(list []member, name string) string {
	value := get(list, name)
	if value.Kind() != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}
