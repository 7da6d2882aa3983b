package redact

import (
	"slices"
	"strings"
)

// strong are the words that say by themselves that what is assigned is secret, if they end a name.
var strong = []string{"password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "credential", "credentials", "authtoken", "accesstoken", "secretkey", "privatekey", "accesskey", "passcode", "authorization"}

// qualifiers are the words that make a key one that must not be seen.
var qualifiers = []string{"api", "access", "secret", "private", "auth", "signing", "encryption", "service", "master", "session", "license", "deploy", "webhook", "account"}

// weight is how much a name says.
type weight int

const (
	nothing weight = iota
	bare           // the word key alone: any map has one
	counted        // a token, which may be a figure
	sure
)

// weigh looks at the last words of a name: token_type is no token, api_key is a key.
func weigh(name string) weight {
	last, before := lastWords(name)
	switch {
	case last == "token":
		return counted
	case slices.Contains(strong, last):
		return sure
	case last != "key":
		return nothing
	case slices.Contains(qualifiers, before):
		return sure
	default:
		return bare
	}
}

// lastWords gives the last two words of a name, in lower case. Names are snake_case, kebab-case, camelCase or UPPER_CASE.
func lastWords(name string) (last, before string) {
	end := len(name)
	for _, to := range []*string{&last, &before} {
		for end > 0 && strings.IndexByte("_-. ", name[end-1]) >= 0 {
			end--
		}
		i := end
		for i > 0 && strings.IndexByte("_-. ", name[i-1]) < 0 {
			i--
			if isUpper(name[i]) && i > 0 && !isUpper(name[i-1]) {
				break
			}
		}
		*to = strings.ToLower(name[i:end])
		end = i
	}
	return last, before
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// nameMost bounds how far back a name is looked for.
const nameMost = 80

// quotes are the ways a name or value is quoted; the escaped ones stand in JSON that is in JSON.
var quotes = []string{`\\\"`, `\"`, `"`, `'`, "`"}

// assigned finds the value that the sign at i gives to a secret's name.
func assigned(s string, i int) (from, to int, ok bool) {
	end := i
	for end > 0 && (s[end-1] == ' ' || s[end-1] == '\t') && i-end < 4 {
		end--
	}
	keyQuote := ""
	for _, q := range quotes {
		if strings.HasSuffix(s[:end], q) {
			keyQuote, end = q, end-len(q)
			break
		}
	}
	begin := end
	for begin > 0 && end-begin < nameMost && (word[s[begin-1]] || s[begin-1] == '-' || s[begin-1] == '.') {
		begin--
	}
	if end-begin < 3 {
		return 0, 0, false
	}
	w := weigh(s[begin:end])
	if w == nothing {
		return 0, 0, false
	}
	v := i + 1
	if s[i] == ':' && v < len(s) && s[v] == '=' || s[i] == '=' && v < len(s) && s[v] == '>' {
		v++ // Go's := and the => of maps
	}
	for v < len(s) && (s[v] == ' ' || s[v] == '\t') {
		v++
	}
	if v >= len(s) || s[v] == '=' {
		return 0, 0, false
	}
	for _, q := range quotes {
		if strings.HasPrefix(s[v:], q) {
			return quoted(s, v+len(q), q, w)
		}
	}
	a := assignment{weight: w, adjacent: v == i+1 && s[i] == '=', quotedKey: keyQuote != "", alone: alone(s, begin)}
	return a.unquoted(s, v)
}

// alone reports that only indentation, a dash or export stands before a name: the line is a setting and not a sentence.
func alone(s string, begin int) bool {
	line := s[strings.LastIndexByte(s[:begin], '\n')+1 : begin]
	line = strings.TrimSpace(line)
	return line == "" || line == "-" || line == "export"
}

// quoted takes the value up to the quote that ends it.
func quoted(s string, from int, q string, w weight) (int, int, bool) {
	to := from
	for to < len(s) && s[to] != '\n' && !strings.HasPrefix(s[to:], q) {
		if s[to] == '\\' && len(q) == 1 {
			to++
		}
		to++
	}
	to = min(to, len(s))
	value := s[from:to]
	if value == "" || value == Mark || stands(value) || w == bare && !random(value) {
		return 0, 0, false
	}
	return from, to, true
}

// assignment is one whose value has no quotes, with what tells a setting from a sentence.
type assignment struct {
	weight    weight
	adjacent  bool // name=value
	quotedKey bool // or something else says as clearly that a value follows
	alone     bool
}

func (a assignment) unquoted(s string, from int) (int, int, bool) {
	if from < len(s) && (hasWord(s[from:], "Bearer ") || hasWord(s[from:], "Basic ")) {
		from += strings.IndexByte(s[from:], ' ') + 1
		a.quotedKey = true
	}
	to := from
	for to < len(s) && strings.IndexByte(" \t\r\n\"'`,;&<>(){}[]\\|", s[to]) < 0 {
		to++
	}
	value := strings.TrimRight(s[from:to], ".:!?")
	to = from + len(value)
	if value == "" || stands(value) {
		return 0, 0, false
	}
	// What is called or looked up is code.
	code := to < len(s) && (s[to] == '(' || s[to] == '[' || s[to] == '{')
	digits := run(value, "0123456789") == len(value)
	switch {
	case code || value[0] == '/' || value[0] == '$' || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "~/"):
		return 0, 0, false
	case a.weight == bare:
		return from, to, random(value)
	case digits:
		return from, to, a.weight == sure && len(value) >= 4
	case a.adjacent || a.quotedKey:
		return from, to, len(value) >= 4
	case a.alone && (to == len(s) || s[to] == '\n' || s[to] == '\r'):
		return from, to, len(value) >= 6
	default:
		return from, to, len(value) >= 6 && mixed(value) && run(value, alnum+"_-+/=.~!@#$%^*") == len(value)
	}
}

func hasWord(s, word string) bool {
	return len(s) >= len(word) && strings.EqualFold(s[:len(word)], word)
}

// stands reports a value that stands for another: a literal, a variable, a placeholder.
func stands(value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "null", "nil", "none", "undefined", "string", "required", "optional", "redacted", "bearer", "basic":
		return true
	}
	return strings.Trim(value, "*x.•…-") == "" || value[0] == '$' && strings.IndexAny(value, "{(") == 1 ||
		value[0] == '<' || strings.HasPrefix(value, Mark[:len(Mark)-1])
}

// random reports a value that only chance makes: long, of letters and digits, and neither a path, a UUID nor a hash.
func random(value string) bool {
	if len(value) < 20 || !mixed(value) || run(value, base64url+"+=") != len(value) {
		return false
	}
	hex := run(value, "0123456789abcdefABCDEF-") == len(value)
	return !hex && strings.ContainsAny(value, upper[:26]) && strings.ContainsAny(value, alnum[26:52])
}

// flagged finds the value of an option like --api-key, in the next word.
func flagged(s string, i int) (from, to int, ok bool) {
	if !strings.HasPrefix(s[i:], "--") || i > 0 && (word[s[i-1]] || s[i-1] == '-') {
		return 0, 0, false
	}
	n := run(s[i+2:], alnum+"-_")
	space := i + 2 + n
	if n == 0 || n > nameMost || space >= len(s) || s[space] != ' ' && s[space] != '"' || weigh(s[i+2:space]) < counted {
		return 0, 0, false
	}
	from = space + 1
	if s[space] == '"' { // the words of an argv in JSON
		rest := strings.TrimLeft(s[from:], ", ")
		if !strings.HasPrefix(rest, `"`) {
			return 0, 0, false
		}
		return quoted(s, len(s)-len(rest)+1, `"`, sure)
	}
	to = from
	for to < len(s) && strings.IndexByte(" \t\r\n\"'`,;)", s[to]) < 0 {
		to++
	}
	value := s[from:to]
	return from, to, len(value) >= 6 && value[0] != '-' && mixed(value) && !stands(value)
}
