package sim

import "strings"

// environ is a process environment; of a name given twice the last counts, as with a shell.
type environ map[string]string

func newEnviron(list []string) environ {
	env := make(environ, len(list))
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			env[name] = value
		}
	}
	return env
}

// expand replaces every ${env:NAME} in text by the variable's value, by nothing where it is not set.
func (e environ) expand(text string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${env:")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			out.WriteString("${env:" + rest)
			return out.String()
		}
		out.WriteString(e[name])
		text = after
	}
}

// list gives the environment in the form exec wants it.
func (e environ) list() []string {
	list := make([]string, 0, len(e))
	for name, value := range e {
		list = append(list, name+"="+value)
	}
	return list
}
