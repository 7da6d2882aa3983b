package config

import (
	"fmt"
	"strings"
)

// patternMost bounds a pattern, and so what matching one costs.
const patternMost = 500

// Path is a pattern over agents' paths.
type Path string

// check says what is wrong with a pattern.
func (p Path) check() error {
	s := string(p)
	if len(s) > patternMost || strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") || strings.Contains(s, "//") {
		return fmt.Errorf("%q is no pattern of agents: names divided by /, with * and **", s)
	}
	return nil
}

// Match reports whether a path fits. The empty pattern fits everybody.
func (p Path) Match(path string) bool {
	if p == "" {
		return true
	}
	pattern, names := strings.Split(string(p), "/"), strings.Split(path, "/")
	// fits[j] says whether the pattern so far fits the first j names: what it costs is the product of the two lengths.
	fits := make([]bool, len(names)+1)
	fits[0] = true
	for _, part := range pattern {
		next := make([]bool, len(names)+1)
		for j := range next {
			switch {
			case part == "**":
				next[j] = fits[j] || j > 0 && next[j-1]
			case j > 0:
				next[j] = fits[j-1] && like(part, names[j-1])
			}
		}
		fits = next
	}
	return fits[len(names)]
}

// Text is a pattern over commands, file names and other texts.
type Text string

// Match reports whether a text fits. The empty pattern fits everything.
func (t Text) Match(s string) bool { return t == "" || like(string(t), s) }

// like matches with * for any text. It goes back to the last star only, so it never costs more than the product of the
// lengths.
func like(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
