package sim

import (
	"path"
	"strings"
)

// parsedCommand is what the real program says about a command line. It is a reading good enough for the shapes, not a
// shell grammar.
type parsedCommand struct {
	commands      []simpleCommand
	input, output bool
	substitution  bool
}

// simpleCommand is a program and its arguments, as words with the quotes still on.
type simpleCommand struct {
	words []string
	text  string
}

func (c simpleCommand) name() string {
	if len(c.words) == 0 {
		return ""
	}
	return path.Base(unquoted(c.words[0]))
}

func parseCommand(line string) parsedCommand {
	p := parsedCommand{substitution: strings.Contains(line, "$(") || strings.Contains(line, "`")}
	start, word := 0, -1
	var words []string
	endWord := func(i int) {
		if word >= 0 {
			words = append(words, line[word:i])
		}
		word = -1
	}
	endCommand := func(i int) {
		endWord(i)
		if len(words) > 0 {
			p.commands = append(p.commands, simpleCommand{words, strings.TrimSpace(line[start:i])})
		}
		words, start = nil, i+1
	}
	for i := 0; i < len(line); i++ {
		switch ch := line[i]; ch {
		case ' ', '\t':
			endWord(i)
		case ';', '&', '|', '\n':
			endCommand(i)
		case '<', '>':
			endWord(i)
			p.input, p.output = p.input || ch == '<', p.output || ch == '>'
		default:
			if word < 0 {
				word = i
			}
			i = skipQuoted(line, i)
		}
	}
	endCommand(len(line))
	return p
}

// skipQuoted gives the last index of what begins at i: the closing quote, the escaped character, or i itself.
func skipQuoted(line string, i int) int {
	switch line[i] {
	case '\\':
		return min(i+1, len(line)-1)
	case '\'', '"':
		if end := strings.IndexByte(line[i+1:], line[i]); end >= 0 {
			return i + 1 + end
		}
		return len(line) - 1
	}
	return i
}

func unquoted(word string) string { return strings.Trim(word, `'"`) }

func (p parsedCommand) names() []string {
	names := []string{}
	for _, c := range p.commands {
		names = append(names, c.name())
	}
	return names
}

func (p parsedCommand) object() object {
	list := []object{}
	for _, c := range p.commands {
		args := []object{}
		for _, w := range c.words[1:] {
			args = append(args, object{{"type", wordType(w)}, {"value", w}})
		}
		list = append(list, object{{"name", c.words[0]}, {"args", args}, {"fullText", c.text}})
	}
	return object{
		{"parsingFailed", false}, {"executableCommands", list}, {"hasRedirects", p.input || p.output},
		{"hasCommandSubstitution", p.substitution}, {"redirects", []any{}},
	}
}

func wordType(word string) string {
	switch {
	case word[0] == '\'':
		return "raw_string"
	case word[0] == '"':
		return "string"
	case strings.Trim(word, "0123456789") == "":
		return "number"
	}
	return "word"
}
