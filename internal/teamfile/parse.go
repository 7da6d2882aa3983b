package teamfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/config"
)

// Team is a team as its file describes it: the root, then the others, parents before children.
type Team struct {
	Agents []Agent
}

// Agent is one agent of a team's file, with everything resolved.
type Agent struct {
	// Path begins with the root's name.
	Path   string
	New    substrat.NewAgent
	Budget []substrat.Budget
	// Message is sent to it as long as it never had a turn nor mail.
	Message  string
	Schedule []Schedule
}

// Schedule is a message that an agent gets again and again.
type Schedule struct {
	Message string
	Every   time.Duration
	// At is the time of day of the first one, local, as minutes after midnight; -1 for one period from now.
	At int
}

// file is the file as it is written.
type file struct {
	member
	Agents []member `toml:"agent"`
}

// member is one agent as it is written.
type member struct {
	Name             string            `toml:"name"`
	Provider         string            `toml:"provider"`
	Role             string            `toml:"role"`
	Model            string            `toml:"model"`
	Instructions     string            `toml:"instructions"`
	InstructionsFile string            `toml:"instructions_file"`
	Dir              string            `toml:"dir"`
	Workspace        string            `toml:"workspace"`
	Worktree         bool              `toml:"worktree"`
	Branch           string            `toml:"branch"`
	Sandbox          string            `toml:"sandbox"`
	Network          string            `toml:"network"`
	Command          []string          `toml:"command"`
	Gated            bool              `toml:"gated"`
	Metadata         map[string]string `toml:"metadata"`
	Message          string            `toml:"message"`
	Wall             config.Duration   `toml:"wall"`
	Silence          config.Duration   `toml:"silence"`
	Budgets          []config.Budget   `toml:"budget"`
	Schedule         []schedule        `toml:"schedule"`
}

type schedule struct {
	Message string          `toml:"message"`
	Every   config.Duration `toml:"every"`
	At      string          `toml:"at"`
}

// Load reads the file of a team. Relative paths in it are relative to where it is.
func Load(path string) (*Team, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot read the file of the team: %v", err)
	}
	base, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot find %s: %v", path, err)
	}
	return Parse(path, data, base)
}

// fileMost bounds the file, agentsMost a team.
const (
	fileMost   = 4 << 20
	agentsMost = 1000
)

// Parse reads the text of a file; name is for its errors, base what relative paths are relative to.
func Parse(name string, data []byte, base string) (*Team, error) {
	if len(data) > fileMost {
		return nil, substrat.Errorf(substrat.CodeTooLarge, "cannot read %s: it is larger than %d MiB", name, fileMost>>20)
	}
	var f file
	if err := config.Strict(name, data, &f); err != nil {
		return nil, err
	}
	r := &reader{name: name, data: data, base: base, seen: map[string]bool{}}
	if f.Name == "" {
		return nil, r.bad("", "the file has no name: that of the root agent")
	}
	if len(f.Agents) >= agentsMost {
		return nil, r.bad("", "a team has at most %d agents", agentsMost)
	}
	t := &Team{}
	root, err := r.read(f.member, f.Name, "")
	if err != nil {
		return nil, err
	}
	t.Agents = append(t.Agents, root)
	for _, m := range f.Agents {
		path := f.Name + "/" + m.Name
		parent := path[:strings.LastIndexByte(path, '/')]
		if !r.seen[parent] {
			return nil, r.bad(m.Name, "its parent %s is not in the file, or comes after it", parent)
		}
		a, err := r.read(m, path, parent)
		if err != nil {
			return nil, err
		}
		t.Agents = append(t.Agents, a)
	}
	return t, nil
}

// reader turns what is written into what is meant.
type reader struct {
	name, base string
	data       []byte
	seen       map[string]bool
}

// bad is an error at the line where an agent's name stands.
func (r *reader) bad(agent, format string, args ...any) error {
	line := 1
	for i, text := range bytes.Split(r.data, []byte("\n")) {
		if k, v, ok := strings.Cut(string(text), "="); ok && strings.TrimSpace(k) == "name" && strings.Trim(strings.TrimSpace(v), `"'`) == agent {
			line = i + 1
			break
		}
	}
	what := ""
	if agent != "" {
		what = "agent " + agent + ": "
	}
	return substrat.Errorf(substrat.CodeInvalid, "cannot read the file of the team:\n%s:%d: %s%s", r.name, line, what, fmt.Sprintf(format, args...))
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (r *reader) read(m member, path, parent string) (Agent, error) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	written := m.Name
	switch {
	case !nameForm.MatchString(name):
		return Agent{}, r.bad(written, "%q is no name: 1 to 63 letters, digits, dots, dashes or underscores", name)
	case r.seen[path]:
		return Agent{}, r.bad(written, "it is there twice")
	case m.Instructions != "" && m.InstructionsFile != "":
		return Agent{}, r.bad(written, "it has instructions and instructions_file")
	case m.Role != "" && !slices.Contains([]string{"worker", "reviewer", "manager"}, m.Role):
		return Agent{}, r.bad(written, "no role %q: worker, reviewer or manager", m.Role)
	case m.Sandbox != "" && m.Sandbox != "bwrap" && m.Sandbox != "landlock" && m.Sandbox != "none":
		return Agent{}, r.bad(written, "no sandbox %q: bwrap, landlock or none", m.Sandbox)
	case m.Network != "" && m.Network != "none" && m.Network != "door" && m.Network != "host":
		return Agent{}, r.bad(written, "no network %q: none, door or host", m.Network)
	}
	r.seen[path] = true
	a := Agent{Path: path, Message: m.Message, New: substrat.NewAgent{
		Name: name, Parent: parent, Provider: m.Provider, Role: substrat.Role(m.Role), Model: m.Model, Instructions: m.Instructions,
		Sandbox: substrat.Sandbox(m.Sandbox), Network: substrat.Network(m.Network), Metadata: m.Metadata, Workspace: m.Workspace, Worktree: m.Worktree, Branch: m.Branch,
		Command: m.Command, Gated: m.Gated,
	}}
	if m.Wall > 0 || m.Silence > 0 {
		a.New.Limits = &substrat.TurnLimits{
			WallSeconds: int(time.Duration(m.Wall).Seconds()), SilenceSeconds: int(time.Duration(m.Silence).Seconds()),
		}
	}
	if len(m.Command) > 0 && (strings.HasPrefix(m.Command[0], "./") || strings.HasPrefix(m.Command[0], "../")) {
		a.New.Command = append([]string{r.path(m.Command[0])}, m.Command[1:]...)
	}
	if m.Dir != "" {
		a.New.Dir = r.path(m.Dir)
	}
	if m.InstructionsFile != "" {
		text, err := os.ReadFile(r.path(m.InstructionsFile))
		if err != nil {
			return Agent{}, r.bad(written, "%v", err)
		}
		a.New.Instructions = string(text)
	}
	return a, r.extras(m, &a)
}

// extras are the budgets and the schedule.
func (r *reader) extras(m member, a *Agent) error {
	for _, b := range m.Budgets {
		if b.Agent != "" || len(b.Role) > 0 {
			return r.bad(m.Name, "a budget in the file of a team is that of the agent it stands under: it takes no agent and no role")
		}
		a.Budget = append(a.Budget, normal(b.Budget()))
	}
	for _, s := range m.Schedule {
		at := -1
		if s.At != "" {
			t, err := time.Parse("15:04", s.At)
			if err != nil {
				return r.bad(m.Name, "%q is no time of day: write 02:00", s.At)
			}
			at = t.Hour()*60 + t.Minute()
		}
		if s.Message == "" || time.Duration(s.Every) < 10*time.Second {
			return r.bad(m.Name, "a schedule has a message, and is every 10s or longer")
		}
		a.Schedule = append(a.Schedule, Schedule{Message: strings.TrimSpace(s.Message), Every: time.Duration(s.Every), At: at})
	}
	return nil
}

// normal fills in what a budget leaves open, as the daemon does.
func normal(b substrat.Budget) substrat.Budget {
	if b.Scope == "" {
		b.Scope = substrat.ScopeSubtree
	}
	if b.Period == "" {
		b.Period = substrat.PeriodTotal
	}
	return b
}

func (r *reader) path(p string) string {
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(p, "~/") {
		p = filepath.Join(home, p[2:])
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(r.base, p)
}
