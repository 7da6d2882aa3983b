package cursor

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The scanner checks a line once, from left to right, against the grammar of JSON; what the decoder then looks at are
// parts of that line, which it may pass over without checking them again. As foreign programs print what they like, a
// string may hold bytes that are no UTF-8, a surrogate may stand alone, and a name may occur twice.

// value is a JSON value as it stands in a line that was checked, nil for none.
type value []byte

// depthMost is how deep values may be nested; it is what Go's own JSON packages take.
const depthMost = 10000

// checkValue checks the value at b[i] and gives the index after it, -1 if there is no valid one.
func checkValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return checkString(b, i+1)
	case '{':
		return checkObject(b, i, depth+1)
	case '[':
		return checkArray(b, i, depth+1)
	case 't':
		return checkWord(b, i, "true")
	case 'f':
		return checkWord(b, i, "false")
	case 'n':
		return checkWord(b, i, "null")
	}
	return checkNumber(b, i)
}

func checkObject(b []byte, i, depth int) int {
	if depth > depthMost {
		return -1
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		if i = checkString(b, i+1); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = checkValue(b, skipSpace(b, i+1), depth); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		if b[i] == '}' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

func checkArray(b []byte, i, depth int) int {
	if depth > depthMost {
		return -1
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = checkValue(b, i, depth); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		if b[i] == ']' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

func checkWord(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

func checkNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = skipDigits(b, i); i == start {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = skipDigits(b, start); i == start {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = skipDigits(b, start); i == start {
			return -1
		}
	}
	return i
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of a word that end a run of plain text in a string: quotes, backslashes and control characters.
// The lowest mark is exact.
func special(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs
}

// checkString checks the string whose text begins at b[i] and gives the index after its closing quote.
func checkString(b []byte, i int) int {
	for {
		for i+8 <= len(b) {
			m := special(binary.LittleEndian.Uint64(b[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
			break
		}
		for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) || b[i] < 0x20 {
			return -1
		}
		if b[i] == '"' {
			return i + 1
		}
		if i = checkEscape(b, i+1); i < 0 {
			return -1
		}
	}
}

// checkEscape checks what follows a backslash.
func checkEscape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case 'n', '"', '\\', '/', 'b', 'f', 'r', 't':
		return i + 1
	case 'u':
		if i+5 <= len(b) && hexes(b[i+1:i+5]) >= 0 {
			return i + 5
		}
	}
	return -1
}

// hexes reads four hexadecimal digits, -1 if they are not.
func hexes(b []byte) rune {
	var r rune
	for _, c := range b {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// skipString gives the index after the string whose text begins at b[i]. In a checked string a quote ends it unless an
// odd number of backslashes stands before it, so that only quotes need to be looked for.
func skipString(b []byte, i int) int {
	for from := i; ; {
		n := quoteIn(b[i:])
		if n < 0 {
			return len(b)
		}
		i += n
		k := i
		for k > from && b[k-1] == '\\' {
			k--
		}
		i++
		if (i-1-k)&1 == 0 {
			return i
		}
	}
}

// quoteIn gives the index of the first quote, -1 for none. Names and most values are so short that a call is longer.
func quoteIn(b []byte) int {
	i := 0
	for ; i < 32 && i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:]) ^ ones*'"'
		if m := (w - ones) &^ w & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	if n := bytes.IndexByte(b[i:], '"'); n >= 0 {
		return i + n
	}
	return -1
}

// skipValue gives the index after the checked value at b[i].
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return skipString(b, i+1)
	case '{', '[':
		depth := 0
		for i < len(b) {
			c := b[i]
			i++
			switch c {
			case '"':
				i = skipString(b, i)
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i
				}
			}
		}
		return i
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}
