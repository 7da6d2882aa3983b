package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Argument is one argument of a tool, as people read of it.
type Argument struct {
	Name, Type, Text string
	Required         bool
	// Words are the values it takes, if they are few.
	Words []string
}

// Arguments lists a tool's arguments in the order of its declaration.
func (t *Tool) Arguments() []Argument {
	s := t.Schema()
	var out []Argument
	for _, name := range s.PropertyOrder {
		p := s.Properties[name]
		a := Argument{Name: name, Type: typeOf(p), Text: p.Description, Required: slices.Contains(s.Required, name)}
		for _, w := range p.Enum {
			a.Words = append(a.Words, fmt.Sprint(w))
		}
		out = append(out, a)
	}
	return out
}

// typeOf is the one type of a property, null aside.
func typeOf(p *jsonschema.Schema) string {
	for _, t := range append([]string{p.Type}, p.Types...) {
		if t != "" && t != "null" {
			return t
		}
	}
	return "object"
}

// Reference writes the page of all tools.
func Reference() string {
	var b strings.Builder
	b.WriteString("# The agents' tools\n\n" + referenceHead)
	for i := range All {
		t := &All[i]
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", t.Name, t.Prose())
		if args := t.Arguments(); len(args) > 0 {
			b.WriteString("\n| argument | type | |\n|---|---|---|\n")
			for _, a := range args {
				name := "`" + a.Name + "`"
				if !a.Required {
					name += " (optional)"
				}
				fmt.Fprintf(&b, "| %s | %s | %s |\n", name, a.Type, strings.ReplaceAll(a.Text, "|", `\|`))
			}
		}
		if n := t.Notes(); n != "" {
			b.WriteString("\n" + n + "\n")
		}
	}
	return b.String()
}

const referenceHead = `This page is made from the tools' declarations in internal/tool: ` + "`go test ./internal/tool -update`" + ` writes it.

Agents have these tools over MCP, from the server "substrat", and in a shell as ` + "`substrat tool NAME`" + `. All answer at once with
JSON. A refusal is a result too, ` + "`{\"error\":{\"code\",\"message\",\"hint\"}}`" + `, for the agent to read and act on. Any call may be refused as
rate_limited, with a hint when to try again; as forbidden, by a policy of the user's; or as approval, when a policy puts it before a
person: the answer is then the agent's next message. "Reachable" are an agent's parent, children and siblings.
`
