package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"substrat.dev/substrat"
)

// Strict reads TOML into a value and takes no key that it does not know. Errors name the file and the line.
func Strict(name string, data []byte, into any) error {
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	err := d.Decode(into)
	var missing *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		var lines []string
		known := keys(reflect.TypeOf(into), map[reflect.Type]bool{})
		for _, e := range missing.Errors {
			row, _ := e.Position()
			key := e.Key()[len(e.Key())-1]
			line := fmt.Sprintf("%s:%d: the key %q is not known", name, row, strings.Join(e.Key(), "."))
			if near := nearest(key, known); near != "" {
				line += fmt.Sprintf("; did you mean %q?", near)
			}
			lines = append(lines, line)
		}
		return substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration:\n%s", strings.Join(lines, "\n"))
	case errors.As(err, &wrong):
		row, _ := wrong.Position()
		key := ""
		if k := wrong.Key(); len(k) > 0 {
			key = strings.Join(k, ".") + ": "
		}
		return substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration:\n%s:%d: %s%s", name, row, key, strings.TrimPrefix(wrong.Error(), "toml: "))
	default:
		return substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration:\n%s: %v", name, err)
	}
}

// keys lists the names that a type takes, at any depth.
func keys(t reflect.Type, seen map[reflect.Type]bool) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		if tag := f.Tag.Get("toml"); tag != "" {
			out = append(out, tag)
		}
		out = append(out, keys(f.Type, seen)...)
	}
	return out
}

// nearest finds the known key that a mistyped one is likely to be.
func nearest(key string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(key, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to change between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
