package engine

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/tool"
)

//go:embed roles/*.md
var builtinRoles embed.FS

// Roles gives the built-in templates of the standing instructions, by file name.
func Roles() fs.FS {
	sub, err := fs.Sub(builtinRoles, "roles")
	if err != nil { // the directory is embedded
		panic(err)
	}
	return sub
}

// standing is what a template of the standing instructions can say.
type standing struct {
	// Name and Path are the agent's, Parent its parent's name, empty for a root.
	Name, Path, Parent string
	Role               substrat.Role
	// Tools are the names of the agents' tools.
	Tools string
	// Instructions are those it was created with, Metadata its notes.
	Instructions string
	Metadata     map[string]string
}

func standingOf(s *team.State, a *team.Agent) standing {
	out := standing{Tools: tool.Names(), Name: a.Name, Path: s.Path(a.ID), Role: a.Role, Instructions: a.Instructions, Metadata: a.Metadata}
	if p := s.Agents[a.Parent]; p != nil {
		out.Parent = p.Name
	}
	return out
}

// instructions are what stands above every turn of an agent, where its CLI keeps them across its own compaction: the
// template of its role, from roles/ROLE.md in the home if there is one, else the built-in one.
func (e *Engine) instructions(data standing) (string, error) {
	t := template.New("").Option("missingkey=error")
	for _, name := range []string{"house", string(data.Role)} {
		text, err := e.roleText(name + ".md")
		if err == nil {
			_, err = t.New(name).Parse(text)
		}
		if err != nil {
			return "", substrat.Errorf(substrat.CodeInvalid, "cannot write the instructions of %s: %v", data.Path, err).
				WithHint("mend or remove the file in %s", filepath.Join(e.cfg.Home, "roles"))
		}
	}
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, string(data.Role), data); err != nil {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot write the instructions of %s: %v", data.Path, err).
			WithHint("mend or remove the file in %s", filepath.Join(e.cfg.Home, "roles"))
	}
	return strings.TrimSpace(blanks.ReplaceAllString(b.String(), "\n\n")) + "\n", nil
}

// blanks are more empty lines than one, which templates leave behind.
var blanks = regexp.MustCompile(`\n{3,}`)

// roleMost bounds a template.
const roleMost = 256 << 10

func (e *Engine) roleText(name string) (string, error) {
	path := filepath.Join(e.cfg.Home, "roles", name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = fs.ReadFile(Roles(), name)
	}
	if err == nil && len(data) > roleMost {
		err = substrat.Errorf(substrat.CodeTooLarge, "%s is larger than %d KiB", path, roleMost>>10)
	}
	return string(data), err
}
