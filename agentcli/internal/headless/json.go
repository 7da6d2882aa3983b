package headless

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is one member of an object. Name is as it is written, without its quotes.
type Member struct {
	Name  []byte
	Value jsontext.Value
}

// Object is a JSON object in the order it was written. What is no object has no members.
type Object []Member

// relaxed takes what foreign programs print: duplicate names and invalid UTF-8 are theirs to answer for.
var relaxed = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// parser reads one value. The decoder takes the buffer's bytes as they are, so that values are parts of them.
type parser struct {
	dec *jsontext.Decoder
	buf bytes.Buffer
}

var parsers = sync.Pool{New: func() any { return &parser{dec: jsontext.NewDecoder(new(bytes.Buffer))} }}

func open(data []byte) *parser {
	p := parsers.Get().(*parser)
	p.buf = *bytes.NewBuffer(data)
	p.dec.Reset(&p.buf, relaxed...)
	return p
}

func (p *parser) close() {
	p.buf = bytes.Buffer{}
	parsers.Put(p)
}

// ParseObject reads the object at the start of data and tells how long it was, 0 if there is none. The values are parts of
// data. The object is put into o, whose room is used again.
func ParseObject(data []byte, o Object) (Object, int) {
	o = o[:0]
	if len(data) == 0 || data[0] != '{' {
		return o, 0
	}
	p := open(data)
	defer p.close()
	if _, err := p.dec.ReadToken(); err != nil {
		return o, 0
	}
	for p.dec.PeekKind() == '"' {
		name, err := p.dec.ReadValue()
		if err != nil {
			return o, 0
		}
		// The decoder's next step may not move what was read: both are parts of data.
		inner := name[1 : len(name)-1]
		value, err := p.dec.ReadValue()
		if err != nil {
			return o, 0
		}
		o = append(o, Member{inner, value})
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return o, 0
	}
	return o, int(p.dec.InputOffset())
}

// ObjectOf reads a value that should be an object.
func ObjectOf(v jsontext.Value) Object {
	if len(v) == 0 || v[0] != '{' {
		return nil
	}
	o, n := ParseObject(v, make(Object, 0, 8))
	if n == 0 {
		return nil
	}
	return o
}

// Get gives the value of a member, the last one of that name, nil if there is none or it is null.
func (o Object) Get(name string) jsontext.Value {
	for i := len(o) - 1; i >= 0; i-- {
		if string(o[i].Name) == name {
			if string(o[i].Value) == "null" {
				return nil
			}
			return o[i].Value
		}
	}
	return nil
}

// Object gives a member that is an object.
func (o Object) Object(name string) Object { return ObjectOf(o.Get(name)) }

// Str gives the first of some members that is a string and not empty.
func (o Object) Str(names ...string) string {
	for _, n := range names {
		if s := Str(o.Get(n)); s != "" {
			return s
		}
	}
	return ""
}

// Word gives a member that is one of a few known words, without an allocation for those.
func (o Object) Word(name string, known ...string) string {
	v := o.Get(name)
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	for _, w := range known {
		if string(v[1:len(v)-1]) == w {
			return w
		}
	}
	return Str(v)
}

// Int gives a member that is a number, also one written as a string.
func (o Object) Int(name string) int64 { return Int(o.Get(name)) }

// Bool gives a member that is true.
func (o Object) Bool(name string) bool { return string(o.Get(name)) == "true" }

// Elements gives the elements of an array. What is no array has none.
func Elements(v jsontext.Value) []jsontext.Value {
	if len(v) == 0 || v[0] != '[' {
		return nil
	}
	p := open(v)
	defer p.close()
	if _, err := p.dec.ReadToken(); err != nil {
		return nil
	}
	var out []jsontext.Value
	for {
		switch p.dec.PeekKind() {
		case ']', 0:
			return out
		}
		value, err := p.dec.ReadValue()
		if err != nil {
			return out
		}
		out = append(out, value)
	}
}

// Str reads a JSON string; anything else is empty.
func Str(v jsontext.Value) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	out, err := jsontext.AppendUnquote(nil, v)
	if err != nil && len(out) == 0 {
		return strings.ToValidUTF8(string(inner), "\uFFFD")
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// Int reads a whole number, also one written as a string. What does not fit is cut off.
func Int(v jsontext.Value) int64 {
	s := strings.Trim(string(v), `"`)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	var n int64
	for _, c := range s {
		if c < '0' || c > '9' || n > 1<<58 {
			break
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		return -n
	}
	return n
}

// Float reads a number.
func Float(v jsontext.Value) float64 {
	var f float64
	if len(v) == 0 || json.Unmarshal(v, &f) != nil {
		return 0
	}
	return f
}

// Raw copies a value, so that it can be kept past the line it is a part of. What is not valid UTF-8 is made so.
func Raw(v jsontext.Value) json.RawMessage {
	if len(v) == 0 {
		return nil
	}
	return json.RawMessage(bytes.ToValidUTF8(v, []byte("\uFFFD")))
}

// ContentText puts together the text of content that is a string, or a list of parts: {"type":"text","text":…}.
func ContentText(v jsontext.Value) string {
	if len(v) > 0 && v[0] == '"' {
		return Str(v)
	}
	var b strings.Builder
	for _, part := range Elements(v) {
		if s := Str(part); s != "" {
			b.WriteString(s)
			continue
		}
		b.WriteString(ObjectOf(part).Str("text"))
	}
	return b.String()
}
