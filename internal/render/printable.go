package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Printable shows text from elsewhere on a terminal: control characters, and characters that change the order or hide, are
// written out, so that no agent can send a terminal a command or say one thing to people and another to models. Line breaks
// and tabs stay, and what joins or colours the parts of one picture does.
func Printable(s string) string {
	var b strings.Builder
	before := ' '
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		if r == '\n' || r == '\t' || !hidden(before, r) {
			b.WriteRune(r)
		} else {
			b.WriteString(escaped(r))
		}
		before = r
	}
	return b.String()
}

// hidden reports whether a character is not to be seen, or makes others look or stand otherwise, after the one before it.
func hidden(before, r rune) bool {
	switch {
	case r < ' ':
		return true
	case r < 0x7f:
		return false
	// Joiners and styles belong to a picture. Behind anything else, or in a row, they carry a message of their own.
	case r == '\u200d':
		return !pictured(before)
	case r == '\ufe0e', r == '\ufe0f':
		return !pictured(before) && before != '#' && before != '*' && (before < '0' || before > '9')
	case r >= 0xE0000 && r <= 0xE0FFF, unicode.Is(unicode.Variation_Selector, r):
		return true
	default:
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
			unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || r == '\u2800'
	}
}

// pictured reports whether a character may be joined with the next: a symbol, a shade of one, a style, or a letter of the
// scripts that join.
func pictured(r rune) bool {
	if r < 0x80 || unicode.Is(unicode.Cf, r) {
		return false
	}
	return r == '\ufe0f' || unicode.IsSymbol(r) || unicode.In(r, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Sinhala, unicode.Malayalam)
}

// escaped writes a character out as JSON does: what is escaped within a string of JSON is still that string.
func escaped(r rune) string {
	if r <= 0xffff {
		return fmt.Sprintf("\\u%04x", r)
	}
	high, low := utf16.EncodeRune(r)
	return fmt.Sprintf("\\u%04x\\u%04x", high, low)
}
