package sim

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	scriptOpen  = "<<SCRIPT"
	scriptClose = "SCRIPT>>"
)

// script is what stood between one pair of marks; err says why it cannot be followed.
type script struct {
	steps []step
	err   error
}

// step is one member of a script: the kind, what stood under the kind's name, and everything else.
type step struct {
	kind    string // "" if no member names a kind
	value   jsontext.Value
	members []member
}

// stepKinds are the kinds in the order of precedence, for steps that hold several of these names: {"grep":…,"path":…}
// is no matter, but {"plan":…,"text":…} is a plan.
func stepKinds() []string {
	return []string{
		"fault", "mcp", "shell", "write", "edit", "read", "delete", "grep", "glob", "ls", "todo", "ask", "plan",
		"sleep_ms", "think", "text",
	}
}

// cutScripts takes the scripts out of a prompt. plain is what is left. Marks nest: an inner pair belongs to the text of
// the script around it, and is for whom that text will reach.
func cutScripts(prompt string) (plain string, bodies []string, unclosed bool) {
	var rest strings.Builder
	for {
		before, after, ok := strings.Cut(prompt, scriptOpen)
		rest.WriteString(before)
		if !ok {
			return rest.String(), bodies, false
		}
		end := closing(after)
		if end < 0 {
			return rest.String(), bodies, true
		}
		bodies = append(bodies, after[:end])
		prompt = after[end+len(scriptClose):]
	}
}

// closing gives where the mark stands that closes a script whose opening mark has just been read, -1 without one.
func closing(text string) int {
	depth, at := 1, 0
	for {
		open, shut := strings.Index(text[at:], scriptOpen), strings.Index(text[at:], scriptClose)
		switch {
		case shut < 0:
			return -1
		case open >= 0 && open < shut:
			depth++
			at += open + len(scriptOpen)
		default:
			depth--
			if depth == 0 {
				return at + shut
			}
			at += shut + len(scriptClose)
		}
	}
}

// parsePrompt gives the scripts of a prompt in order, and the prompt without them.
func parsePrompt(prompt string) (plain string, scripts []script) {
	plain, bodies, unclosed := cutScripts(prompt)
	for _, body := range bodies {
		steps, err := parseScript(body)
		scripts = append(scripts, script{steps, err})
	}
	if unclosed {
		scripts = append(scripts, script{err: fmt.Errorf("there is no %s to end it", scriptClose)})
	}
	return strings.TrimSpace(plain), scripts
}

func parseScript(body string) ([]step, error) {
	dec := jsontext.NewDecoder(bytes.NewReader([]byte(body)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if kind := dec.PeekKind(); kind != '[' {
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("it is no list of steps")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var steps []step
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		list, ok := members(value)
		if !ok {
			return nil, fmt.Errorf("step %d is no object", len(steps)+1)
		}
		steps = append(steps, newStep(list))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if rest := strings.TrimSpace(body[dec.InputOffset():]); rest != "" {
		return nil, fmt.Errorf("something follows the list of steps")
	}
	return steps, nil
}

func newStep(list []member) step {
	for _, kind := range stepKinds() {
		if value := get(list, kind); value != nil {
			return step{kind: kind, value: value, members: list}
		}
	}
	return step{members: list}
}

// text gives a string member, expanded already.
func (s step) text(name string) string { return getString(s.members, name) }

// number gives a member that is a whole number, def where there is none.
func (s step) number(name string, def int64) int64 {
	n, err := strconv.ParseInt(string(get(s.members, name)), 10, 64)
	if err != nil || n < 0 {
		return def
	}
	return n
}

func (s step) flag(name string) bool { return string(get(s.members, name)) == "true" }

// maxWait bounds the waits of a script, so that a slip in it does not overflow.
const maxWait = 24 * time.Hour

func (s step) millis(name string) time.Duration {
	return min(time.Duration(min(s.number(name, 0), int64(maxWait/time.Millisecond)))*time.Millisecond, maxWait)
}

// expand passes every string of the step through edit.
func (s step) expand(edit func(string) string) (step, error) {
	list := make([]member, len(s.members))
	for i, m := range s.members {
		value, err := mapStrings(m.value, edit)
		if err != nil {
			return step{}, err
		}
		list[i] = member{m.name, value}
	}
	return newStep(list), nil
}

// name says what kind a step was meant to be.
func (s step) name() string {
	if s.kind != "" {
		return s.kind
	}
	for _, m := range s.members {
		if m.name != "delay_ms" && m.name != "chunk_ms" {
			return m.name
		}
	}
	return ""
}
