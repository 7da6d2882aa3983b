package redact

import "strings"

// Prose takes secrets out of text that comes in pieces, as models write it: what may become part of a secret comes out with the
// end of its word. It is for one goroutine.
type Prose struct {
	set *Set
	// line is the last line so far, and told how much of it has come out.
	line string
	told int
	// until ends a private key whose lines are passed over.
	until string
}

// proseMost bounds a line, and wordMost a word, that is held.
const (
	proseMost = 32 << 10
	wordMost  = 4 << 10
)

// Prose begins a text.
func (s *Set) Prose() *Prose { return &Prose{set: s} }

// Push takes a piece and gives what is sure by now.
func (p *Prose) Push(text string) string {
	p.line += text
	var out strings.Builder
	for {
		i := strings.IndexByte(p.line, '\n')
		if i < 0 {
			break
		}
		line := p.line[:i+1]
		p.line = p.line[i+1:]
		out.WriteString(p.finish(line))
	}
	if p.until != "" {
		return out.String()
	}
	cut := strings.LastIndexAny(p.line, " \t") + 1
	if harmless(p.line, p.line[cut:]) {
		cut = len(p.line)
	}
	if known := p.set.Known(); known != nil {
		cut = min(cut, known.open([]byte(p.line), 0))
	}
	block := strings.Index(p.line, pemBegin)
	if block >= 0 {
		cut = min(cut, block)
	}
	if cut == 0 && block < 0 && len(p.line) > wordMost {
		cut = len(p.line) - wordMost/2
	}
	if len(p.line) > proseMost {
		if cut == 0 {
			cut = len(p.line)
		}
		line := p.line[:cut]
		p.line = p.line[cut:]
		out.WriteString(p.finish(line))
		return out.String()
	}
	if text := p.set.Shown(p.line[:cut]); len(text) > p.told {
		out.WriteString(text[p.told:])
		p.told = len(text)
	}
	return out.String()
}

// End gives what is held. The next piece begins another text.
func (p *Prose) End() string {
	line := p.line
	p.line = ""
	out := p.finish(line)
	p.until = ""
	return out
}

// finish gives what of a line has not come out.
func (p *Prose) finish(line string) string {
	told := p.told
	p.told = 0
	if p.until != "" {
		i := strings.Index(line, p.until)
		if i < 0 {
			return ""
		}
		line, p.until = line[i+len(p.until):], ""
	}
	text := p.set.Shown(line)
	if open := openBlock(line); open >= 0 {
		p.until = endOfBlock(line[open:])
	}
	return text[min(told, len(text)):]
}

// harmless reports that a line's last word can become no secret, whatever follows: nothing on the line gives it a meaning, and
// it does not begin like a token.
func harmless(line, last string) bool {
	if strings.ContainsAny(line, "=:") || strings.Contains(line, "--") || strings.Contains(strings.ToLower(line), "bearer") {
		return false
	}
	for i := range len(last) {
		if (i == 0 || !word[last[i-1]] || escaped(last, i)) && begins(last[i:]) {
			return false
		}
	}
	return true
}

// begins reports the front of a token, or of what leads to one.
func begins(s string) bool {
	for _, f := range forms {
		if strings.HasPrefix(s, f.prefix) || strings.HasPrefix(f.prefix, s) {
			return true
		}
	}
	front := func(whole string) bool { return len(s) < len(whole) && strings.EqualFold(s, whole[:len(s)]) }
	return s[0] == '-' || strings.HasPrefix(s, "eyJ") || front("eyJ") || front("bearer")
}
