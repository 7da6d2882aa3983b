package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// encodedLeast is the length from which on a value is looked for in other encodings too: a shorter one would be found in
// what is none.
const encodedLeast = 8

// Forms gives a value in the forms in which it may stand in text: as it is, quoted as JSON quotes it, in an address, in
// hexadecimal, and in base64 wherever it begins in what was encoded. It gives none for what is too short to be told from
// a word.
func Forms(value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < knownLeast {
		return nil
	}
	out := []string{value}
	add := func(form string) {
		if len(form) >= knownLeast && !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	for _, inner := range quotedForms(value) {
		add(inner)
		for _, twice := range quotedForms(inner) { // JSON in JSON
			add(twice)
		}
	}
	for _, address := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		add(address)
		add(lowerEscapes(address))
	}
	if len(value) < encodedLeast {
		return out
	}
	add(strings.ToLower(value)) // as names of hosts are written
	add(hex.EncodeToString([]byte(value)))
	add(strings.ToUpper(hex.EncodeToString([]byte(value))))
	for _, code := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for before := range 3 {
			whole, inner := base64Forms(code, value, before)
			add(whole)
			add(inner)
		}
	}
	return out
}

// quotedForms are the ways that encoders of JSON write a string, without its quotes.
func quotedForms(value string) []string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return nil
	}
	inner := strings.TrimSuffix(b.String(), "\n")
	inner = inner[1 : len(inner)-1]
	out := []string{inner, strings.ReplaceAll(inner, "/", `\/`)}
	if html, err := json.Marshal(value); err == nil {
		out = append(out, string(html[1:len(html)-1]))
	}
	return out
}

// lowerEscapes writes the hexadecimal digits of an address in lower case.
func lowerEscapes(address string) string {
	out := []byte(address)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:i+3], bytes.ToLower(out[i+1:i+3]))
		}
	}
	return string(out)
}

// base64Forms gives the characters that a value makes when a number of bytes stands before it: those up to the end of
// what is encoded, and those that what comes after cannot change.
func base64Forms(code *base64.Encoding, value string, before int) (whole, inner string) {
	text := code.EncodeToString(append(make([]byte, before), value...))
	from := (8*before + 5) / 6
	return text[from:], text[from : 8*(before+len(value))/6]
}
