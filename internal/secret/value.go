package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Value is a text that only Reveal gives. It is behind a pointer because a printer that finds a value in a field it may not
// call a method on prints what is in it.
type Value struct{ text *string }

// New keeps a text.
func New(text string) Value { return Value{&text} }

// Reveal gives the text, for the environment of the process that needs it.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// The methods below give a mark to whoever prints, encodes or logs a value or a source, under any verb and in any format.

// String implements fmt.Stringer.
func (Value) String() string { return hidden }

// GoString implements fmt.GoStringer.
func (Value) GoString() string { return hidden }

// Format implements fmt.Formatter.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalJSON implements json.Marshaler.
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// MarshalText implements encoding.TextMarshaler.
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue implements slog.LogValuer.
func (Value) LogValue() slog.Value { return slog.StringValue(hidden) }

// String implements fmt.Stringer.
func (Source) String() string { return hidden }

// GoString implements fmt.GoStringer.
func (Source) GoString() string { return hidden }

// Format implements fmt.Formatter.
func (Source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalJSON implements json.Marshaler.
func (Source) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// MarshalText implements encoding.TextMarshaler.
func (Source) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue implements slog.LogValuer.
func (Source) LogValue() slog.Value { return slog.StringValue(hidden) }
