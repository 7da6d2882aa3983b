package redact

import "strings"

// word marks the bytes that names and tokens are made of.
var word = func() (t [256]bool) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-32] = true, true
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	t['_'] = true
	return t
}()

// scan finds what looks like a secret. It looks only where a word begins and at the signs that assign.
func scan(s string) []span { return scanFor(s, true) }

// scanFor is scan; without names, for that alone which is a secret wherever it stands.
func scanFor(s string, names bool) []span {
	var found []span
	at := 0 // nothing before it is looked at again
	take := func(from, to int) {
		// A key in lines that begins in a value is more than its first word.
		if begin := strings.Index(s[from:min(len(s), to+len(pemBegin))], pemBegin); begin >= 0 {
			if end, ok := pem(s, from+begin); ok {
				to = max(to, end)
			}
		}
		found = append(found, span{from, to})
		at = to
	}
	for i := 0; i < len(s); i++ {
		if i < at {
			i = at
			if i >= len(s) {
				break
			}
		}
		c := s[i]
		switch {
		case !names && c != '-' && !(word[c] && starts[c]):
		case c == '=' || c == ':':
			if from, to, ok := assigned(s, i); ok && from >= at {
				take(from, to)
			} else if from, to, ok := userinfo(s, i); ok {
				take(from, to)
			}
		case c == '-':
			if to, ok := pem(s, i); ok {
				take(i, to)
			} else if from, to, ok := flagged(s, i); ok && names {
				take(from, to)
			}
		case word[c] && starts[c] && (i == 0 || !word[s[i-1]] || escaped(s, i)):
			if from, to, ok := prefixed(s, i); ok {
				take(from, to)
			}
		}
	}
	return found
}

// escaped reports that the letter before i belongs to an escape of a JSON string, as n does in \n.
func escaped(s string, i int) bool {
	return i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrtbf", s[i-1]) >= 0
}

// form is a kind of token known by how it begins.
type form struct {
	prefix string
	least  int // characters after the prefix
	most   int // 0 for no bound
	chars  string
	digit  bool // it has a digit at least: what is all letters is a name
}

const (
	alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)

// forms are those that issuers document, and the keys of model providers.
var forms = []form{
	{"ghp_", 16, 0, alnum, false},
	{"gho_", 16, 0, alnum, false},
	{"ghu_", 16, 0, alnum, false},
	{"ghs_", 16, 0, alnum + "_.-", false},
	{"ghr_", 16, 0, alnum, false},
	{"github_pat_", 20, 0, alnum + "_", false},
	{"glpat-", 16, 0, alnum + "_-", false},
	{"AKIA", 16, 16, upper, false},
	{"ASIA", 16, 16, upper, false},
	{"sk-", 16, 0, alnum + "_-", true},
	{"sk_live_", 12, 0, alnum, false},
	{"sk_test_", 12, 0, alnum, false},
	{"rk_live_", 12, 0, alnum, false},
	{"key_", 16, 0, alnum, true},
	{"crsr_", 16, 0, alnum + "_", true},
	{"xoxb-", 10, 0, alnum + "-", true},
	{"xoxp-", 10, 0, alnum + "-", true},
	{"xoxa-", 10, 0, alnum + "-", true},
	{"xoxs-", 10, 0, alnum + "-", true},
	{"AIza", 30, 0, alnum + "_-", false},
	{"npm_", 30, 0, alnum, false},
	{"hf_", 30, 0, alnum, false},
	{"pypi-", 30, 0, alnum + "_-", true},
}

// starts marks the bytes that a form, a JWT or a bearer token begins with.
var starts = func() (t [256]bool) {
	for _, f := range forms {
		t[f.prefix[0]] = true
	}
	t['e'], t['B'], t['b'] = true, true, true
	return t
}()

func prefixed(s string, i int) (from, to int, ok bool) {
	rest := s[i:]
	switch rest[0] {
	case 'e':
		return jwt(s, i)
	case 'B', 'b':
		return bearer(s, i)
	}
	for _, f := range forms {
		if !strings.HasPrefix(rest, f.prefix) {
			continue
		}
		n := run(rest[len(f.prefix):], f.chars)
		end := len(f.prefix) + n
		if n < f.least || f.most > 0 && (n > f.most || end < len(rest) && word[rest[end]]) {
			continue
		}
		if f.digit && !strings.ContainsAny(rest[len(f.prefix):end], "0123456789") {
			continue
		}
		return i, i + end, true
	}
	return 0, 0, false
}

// run counts how many bytes at the front of s are of chars.
func run(s, chars string) int {
	for i := range len(s) {
		if strings.IndexByte(chars, s[i]) < 0 {
			return i
		}
	}
	return len(s)
}

const base64url = alnum + "_-"

// jwt finds three parts of base64 with dots between, the first two of which begin an object.
func jwt(s string, i int) (from, to int, ok bool) {
	rest := s[i:]
	if !strings.HasPrefix(rest, "eyJ") {
		return 0, 0, false
	}
	head := run(rest, base64url)
	if head < 10 || !strings.HasPrefix(rest[head:], ".") {
		return 0, 0, false
	}
	body := run(rest[head+1:], base64url)
	if body < 10 {
		return 0, 0, false
	}
	end := head + 1 + body
	if strings.HasPrefix(rest[end:], ".") {
		end += 1 + run(rest[end+1:], base64url)
	}
	return i, i + end, true
}

// bearer finds the token after the word.
func bearer(s string, i int) (from, to int, ok bool) {
	if len(s) < i+8 || !strings.EqualFold(s[i:i+6], "bearer") || s[i+6] != ' ' {
		return 0, 0, false
	}
	from = i + 7
	n := run(s[from:], base64url+".~+/=")
	if n < 8 || !mixed(s[from:from+n]) && n < 32 {
		return 0, 0, false
	}
	return from, from + n, true
}

// mixed reports letters and digits together, as keys have and words do not.
func mixed(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, alnum[:52])
}

// userinfo finds the password of an address: scheme://name:password@host.
func userinfo(s string, i int) (from, to int, ok bool) {
	if s[i] != ':' || !strings.HasPrefix(s[i:], "://") {
		return 0, 0, false
	}
	rest := s[i+3:]
	end := strings.IndexAny(rest, "/ \t\r\n\"'<>\\")
	if end < 0 {
		end = len(rest)
	}
	host := strings.LastIndexByte(rest[:end], '@')
	colon := strings.IndexByte(rest[:end], ':')
	if colon < 0 || host <= colon+1 {
		return 0, 0, false
	}
	return i + 3 + colon + 1, i + 3 + host, true
}

// pem finds a block with a private key, whose lines may be escaped as in JSON. One without an end goes on to the end.
func pem(s string, i int) (to int, ok bool) {
	rest := s[i:]
	if !strings.HasPrefix(rest, pemBegin) {
		return 0, false
	}
	label := rest[len(pemBegin):]
	dashes := strings.Index(label, "-----")
	if dashes < 0 || dashes > 64 || !strings.Contains(label[:dashes], "PRIVATE") {
		return 0, false
	}
	end := "-----END " + label[:dashes] + "-----"
	if j := strings.Index(rest, end); j >= 0 {
		return i + j + len(end), true
	}
	return len(s), true
}

const pemBegin = "-----BEGIN "
