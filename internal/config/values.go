package config

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"substrat.dev/substrat/internal/secret"
)

// Duration is a length of time as a person writes it: "90s", "1h30m", "2d".
type Duration time.Duration

// UnmarshalText reads one.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is no length of time: write 90s, 5m, 2h or 1d", s)
		}
		*d = Duration(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no length of time: write 90s, 5m, 2h or 1d", s)
	}
	*d = Duration(v)
	return nil
}

// Size is a number of bytes as a person writes it: "512MB", "4GiB", "1000".
type Size uint64

var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// UnmarshalText reads one.
func (z *Size) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	factor := 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			s, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n*factor < 1<<60) {
		return fmt.Errorf("%q is no number of bytes: write 512MB or 4GiB", text)
	}
	*z = Size(n * factor)
	return nil
}

// Words is one word or several.
type Words []string

// Has reports whether a word is among them. No words mean any.
func (w Words) Has(word string) bool {
	if len(w) == 0 {
		return true
	}
	for _, x := range w {
		if like(x, word) {
			return true
		}
	}
	return false
}

// Header is the value of a header of HTTP: a source, or one behind "Bearer ".
type Header struct {
	Scheme string
	secret.Source
}

// UnmarshalText reads one.
func (h *Header) UnmarshalText(text []byte) error {
	if !httpguts.ValidHeaderFieldValue(string(text)) {
		return errors.New("this is no value of a header")
	}
	scheme, rest, ok := bytes.Cut(text, []byte(" "))
	if ok && string(scheme) == "Bearer" {
		h.Scheme, text = "Bearer ", rest
	}
	return h.Source.UnmarshalText(text)
}
