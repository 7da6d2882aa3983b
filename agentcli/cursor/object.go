package cursor

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"substrat.dev/substrat"
)

// walker goes through the members of an object or the elements of an array. What is neither has none.
type walker struct {
	b value
	i int
}

func walk(v value, open byte) walker {
	if len(v) == 0 || v[0] != open {
		return walker{}
	}
	return walker{v, skipSpace(v, 1)}
}

func members(v value) walker { return walk(v, '{') }

func elements(v value) walker { return walk(v, '[') }

// member gives the next member of an object. The name is without its quotes, and without escapes unless it has them.
func (w *walker) member() (name, v value, ok bool) {
	if name, ok = w.name(); !ok {
		return nil, nil, false
	}
	return name, w.take(), true
}

// name gives the name of the next member; its value comes next, by take or enter.
func (w *walker) name() (value, bool) {
	if w.i >= len(w.b) || w.b[w.i] != '"' {
		return nil, false
	}
	end := skipString(w.b, w.i+1)
	name := w.b[w.i+1 : max(end-1, w.i+1)]
	if bytes.IndexByte(name, '\\') >= 0 {
		name = value(str(w.b[w.i:end]))
	}
	i := skipSpace(w.b, end)
	w.i = skipSpace(w.b, min(i+1, len(w.b)))
	return name, true
}

// take passes over the value that comes next and gives it.
func (w *walker) take() value {
	start := w.i
	w.i = skipValue(w.b, start)
	v := w.b[start:w.i]
	w.comma()
	return v
}

// first is the first byte of the value that comes next, 0 for none.
func (w *walker) first() byte {
	if w.i >= len(w.b) {
		return 0
	}
	return w.b[w.i]
}

// enter gives a walker through the object that comes next, in which large values lie, so that it is passed over once only.
func (w *walker) enter() walker { return walker{w.b, skipSpace(w.b, w.i+1)} }

// leave goes on after the object that was entered, through all of which the inner walker went. It gives that object.
func (w *walker) leave(inner *walker) value {
	v := w.b[w.i:min(inner.i+1, len(w.b))]
	w.i = min(inner.i+1, len(w.b))
	w.comma()
	return v
}

// element gives the next element of an array.
func (w *walker) element() (value, bool) {
	if w.i >= len(w.b) || w.b[w.i] == ']' {
		return nil, false
	}
	start := w.i
	w.i = max(skipValue(w.b, start), start+1)
	v := w.b[start:w.i]
	w.comma()
	return v, true
}

// comma goes on to the next member or element.
func (w *walker) comma() {
	if w.i = skipSpace(w.b, w.i); w.i < len(w.b) && w.b[w.i] == ',' {
		w.i = skipSpace(w.b, w.i+1)
	}
}

// member is one member of an object.
type member struct{ name, value value }

// fields are the members of an object. Few are ever looked for, so that a search is cheaper than a map.
type fields []member

// room is where the members of the usual object fit; callers keep one on their stack.
type room [24]member

// fieldsOf reads the members of an object.
func fieldsOf(v value, space *room) fields {
	w := members(v)
	return w.fields(space)
}

// fields reads all the members that are left.
func (w *walker) fields(space *room) fields {
	out := fields(space[:0])
	for {
		name, v, ok := w.member()
		if !ok {
			return out
		}
		out = append(out, member{name, v})
	}
}

// get gives a member's value, nil if there is none. Of two with one name the last counts.
func (f fields) get(name string) value {
	for i := len(f) - 1; i >= 0; i-- {
		if string(f[i].name) == name {
			return f[i].value
		}
	}
	return nil
}

// raw gives the first of some members that is a string and not empty, as it is written.
func (f fields) raw(names ...string) value {
	for _, n := range names {
		if v := f.get(n); len(v) > 2 && v[0] == '"' {
			return v
		}
	}
	return nil
}

// str gives the first of some members that is a string and not empty.
func (f fields) str(names ...string) string { return str(f.raw(names...)) }

// in gives a member of an object, nil if it has none of that name.
func in(v value, name string) value {
	var found value
	for w := members(v); ; {
		n, v, ok := w.member()
		if !ok {
			return found
		}
		if string(n) == name {
			found = v
		}
	}
}

// str reads a string; anything else is empty. Bytes that are no UTF-8, and surrogates without their other half, are each
// replaced by U+FFFD.
func str(v value) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	inner := v[1 : len(v)-1]
	i := bytes.IndexByte(inner, '\\')
	if i < 0 {
		if utf8.Valid(inner) {
			return string(inner)
		}
		return scrub(string(inner))
	}
	var b strings.Builder
	b.Grow(len(inner))
	for i >= 0 && i+1 < len(inner) {
		b.Write(inner[:i])
		n := unescape(&b, inner[i+1:])
		inner = inner[i+1+n:]
		// Escapes stand close together in code; a short look finds the next one sooner than a call.
		i = nextEscape(inner)
	}
	b.Write(inner)
	if s := b.String(); !utf8.ValidString(s) {
		return scrub(s)
	}
	return b.String()
}

func nextEscape(b []byte) int {
	for i := range min(len(b), 8) {
		if b[i] == '\\' {
			return i
		}
	}
	if len(b) <= 8 {
		return -1
	}
	if n := bytes.IndexByte(b[8:], '\\'); n >= 0 {
		return n + 8
	}
	return -1
}

// unescape writes what an escape stands for and tells how long it was after its backslash.
func unescape(b *strings.Builder, esc []byte) int {
	switch esc[0] {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'u':
		if len(esc) < 5 {
			return 1
		}
		r := hexes(esc[1:5])
		if utf16.IsSurrogate(r) {
			if len(esc) >= 11 && esc[5] == '\\' && esc[6] == 'u' {
				if both := utf16.DecodeRune(r, hexes(esc[7:11])); both != utf8.RuneError {
					b.WriteRune(both)
					return 11
				}
			}
			r = utf8.RuneError
		}
		b.WriteRune(r)
		return 5
	default:
		b.WriteByte(esc[0])
	}
	return 1
}

// scrub replaces each byte that is no UTF-8.
func scrub(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// integer reads a number, also one written as a string, as int64 values are.
func integer(v value) int64 {
	if len(v) > 1 && v[0] == '"' {
		v = v[1 : len(v)-1]
	}
	neg := len(v) > 0 && v[0] == '-'
	if neg {
		v = v[1:]
	}
	var n int64
	for _, c := range v {
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

func boolean(v value) bool { return string(v) == "true" }

func itoa(n int64) string {
	if n < 0 {
		return "-" + itoa(-n)
	}
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// messageText puts together the text parts of a message, without separators: parts are cut anywhere.
func messageText(v value) string {
	if len(v) > 0 && v[0] == '"' {
		return str(v)
	}
	return contentText(in(v, "content"))
}

// contentText reads content that is a string, or a list of parts.
func contentText(v value) string {
	if len(v) > 0 && v[0] == '"' {
		return str(v)
	}
	var all string
	var b strings.Builder
	n := 0
	for w := elements(v); ; n++ {
		part, ok := w.element()
		switch {
		case !ok && n > 1:
			return b.String()
		case !ok:
			return all
		case n == 0:
			all = partText(part)
			continue
		case n == 1:
			b.WriteString(all)
		}
		b.WriteString(partText(part))
	}
}

// partText reads the text of one part: {"type":"text","text":…}, or {"text":{"text":…}} as in MCP results.
func partText(v value) string {
	text := in(v, "text")
	if len(text) > 0 && text[0] == '{' {
		text = in(text, "text")
	}
	return str(text)
}

// firstText gives the first value that holds text, as a string, a message or an object with an error in it.
func firstText(values ...value) string {
	for _, v := range values {
		if s := messageText(v); s != "" {
			return s
		}
		var space room
		if s := fieldsOf(v, &space).str("message", "error", "errorMessage"); s != "" {
			return s
		}
	}
	return ""
}

// usage reads the tokens of a turn; builds before 2026.07 do not tell.
func usage(v value) *substrat.Usage {
	if len(v) == 0 || v[0] != '{' {
		return nil
	}
	var space room
	f := fieldsOf(v, &space)
	return &substrat.Usage{
		InputTokens: integer(f.get("inputTokens")), OutputTokens: integer(f.get("outputTokens")),
		CacheReadTokens: integer(f.get("cacheReadTokens")), CacheWriteTokens: integer(f.get("cacheWriteTokens")),
	}
}
