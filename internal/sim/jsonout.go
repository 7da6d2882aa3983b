package sim

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// field and object are JSON objects with an order: consumers of the stream compare lines byte by byte, and Go's
// encoder would sort maps and escape what JSON.stringify leaves alone.
type field struct {
	key   string
	value any
}

type object []field

// with returns the object with more fields; the receiver is not changed.
func (o object) with(more ...field) object {
	return append(o[:len(o):len(o)], more...)
}

// appendJSON writes v as JSON.stringify would. v is a string, bool, int, int64, jsontext.Value, object, or a slice of
// []any, []string or []object; anything else is a mistake of this package.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case jsontext.Value:
		return append(b, v...)
	case object:
		return appendObject(b, v)
	case []any:
		return appendArray(b, v)
	case []string:
		return appendArray(b, v)
	case []object:
		return appendArray(b, v)
	}
	panic(fmt.Sprintf("sim: cannot encode %T", v))
}

// appendString quotes s; what is not UTF-8 becomes U+FFFD, as in a JavaScript string.
func appendString(b []byte, s string) []byte {
	quoted, _ := jsontext.AppendQuote(b, s)
	return quoted
}

func appendObject(b []byte, o object) []byte {
	b = append(b, '{')
	for i, f := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, f.key), ':')
		b = appendJSON(b, f.value)
	}
	return append(b, '}')
}

func appendArray[T any](b []byte, list []T) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, v)
	}
	return append(b, ']')
}
