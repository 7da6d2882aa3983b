package teamfile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"substrat.dev/substrat"
)

// carryOut does to what there is what a plan says, as the daemon would.
func carryOut(have Have, plan []Change) {
	for _, c := range plan {
		a := have.Agents[c.Path]
		switch {
		case c.Create != nil:
			n := c.Create
			a = substrat.Agent{
				Name: n.Name, Path: c.Path, Provider: n.Provider, Role: n.Role, Model: n.Model, Instructions: n.Instructions, Dir: n.Dir,
				Sandbox: n.Sandbox, Metadata: n.Metadata, Command: n.Command, Gated: n.Gated, Budgets: n.Budgets, Limits: n.Limits,
			}
		case c.Set != nil:
			if c.Set.Instructions != nil {
				a.Instructions = *c.Set.Instructions
			}
			if c.Set.Model != nil {
				a.Model = *c.Set.Model
			}
			if c.Set.Role != nil {
				a.Role = *c.Set.Role
			}
			if c.Set.Metadata != nil {
				a.Metadata = c.Set.Metadata
			}
			if c.Set.Command != nil {
				a.Command = c.Set.Command
			}
			if c.Set.Limits != nil {
				a.Limits = c.Set.Limits
			}
		case c.Gate != nil:
			a.Gated = *c.Gate
		case c.Budgets != nil:
			a.Budgets = *c.Budgets
		case c.Send != "":
			a.Pending++
		case c.Remind != nil:
			have.Reminders[c.Path] = append(have.Reminders[c.Path], substrat.Reminder{Reason: c.Remind.Message, EverySeconds: int64(c.Remind.Every.Seconds())})
		}
		if !c.Note() {
			have.Agents[c.Path] = a
		}
	}
}

// draw makes a team's file and reads it.
func draw(t *rapid.T, label string) *Team {
	var b strings.Builder
	one := func(name string) {
		fmt.Fprintf(&b, "name = %q\n", name)
		for _, key := range []string{"instructions", "model", "message"} {
			if rapid.Bool().Draw(t, label+key) {
				fmt.Fprintf(&b, "%s = %q\n", key, rapid.SampledFrom([]string{"a", "b"}).Draw(t, label+key+" value"))
			}
		}
		if rapid.Bool().Draw(t, label+"role") {
			fmt.Fprintf(&b, "role = %q\n", rapid.SampledFrom([]string{"worker", "manager"}).Draw(t, label+"role value"))
		}
		fmt.Fprintf(&b, "gated = %v\n", rapid.Bool().Draw(t, label+"gated"))
		if rapid.Bool().Draw(t, label+"metadata") {
			fmt.Fprintf(&b, "metadata = { k = %q }\n", rapid.SampledFrom([]string{"x", "y"}).Draw(t, label+"metadata value"))
		}
	}
	one("lead")
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID).Draw(t, label+"agents") {
		b.WriteString("[[agent]]\n")
		one(name)
		if rapid.Bool().Draw(t, label+"schedule") {
			b.WriteString("[[agent.schedule]]\nevery = \"1h\"\nmessage = \" tick \"\n[[agent.budget]]\nturns = 3\n")
		}
	}
	team, err := Parse("team.toml", []byte(b.String()), "/base")
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return team
}

// TestTwiceChangesNothing: whatever there is, a plan that was carried out leaves nothing to do.
func TestTwiceChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := Have{Agents: map[string]substrat.Agent{}, Reminders: map[string][]substrat.Reminder{}}
		carryOut(have, draw(t, "first ").Plan(have))
		second := draw(t, "second ")
		carryOut(have, second.Plan(have))
		before := maps.Clone(have.Agents)
		for _, c := range second.Plan(have) {
			if !c.Note() {
				t.Fatalf("%s: %s is still to do", c.Path, c.Text)
			}
		}
		if len(before) != len(have.Agents) {
			t.Fatal("planning changed what there is")
		}
	})
}

func TestOrder(t *testing.T) {
	team, err := Parse("team.toml", []byte("name = \"lead\"\nmessage = \"go\"\n[[agent]]\nname = \"a\"\nmessage = \"go\"\n[[agent]]\nname = \"a/b\"\n"), "/base")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range team.Plan(Have{}) {
		got = append(got, c.Path+": "+c.Text)
	}
	want := "lead: create|lead/a: create|lead/a/b: create|lead: send its first message|lead/a: send its first message"
	if strings.Join(got, "|") != want {
		t.Errorf("%v", got)
	}
}

func TestMistakes(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"", "the file has no name"},
		{"name = \"a b\"", "is no name"},
		{"name = \"a\"\nrole = \"king\"", `no role "king"`},
		{"name = \"a\"\nsandbox = \"box\"", `no sandbox "box"`},
		{"name = \"a\"\n[[agent]]\nname = \"b\"\n[[agent]]\nname = \"b\"", "it is there twice"},
		{"name = \"a\"\n[[agent]]\nname = \"b/c\"", "team.toml:3: agent b/c: its parent a/b is not in the file"},
		{"name = \"a\"\ninstructions_file = \"none.md\"", "no such file"},
		{"name = \"a\"\ninstructions_file = \"x\"\ninstructions = \"y\"", "it has instructions and instructions_file"},
		{"name = \"a\"\n[[schedule]]\nevery = \"24h\"\nat = \"late\"\nmessage = \"x\"", `"late" is no time of day`},
		{"name = \"a\"\n[[schedule]]\nevery = \"1s\"\nmessage = \"x\"", "10s or longer"},
		{"name = \"a\"\n[[budget]]\nturns = 1\nagent = \"b\"", "takes no agent"},
		{"name = \"a\"\ncolour = \"red\"", `the key "colour" is not known`},
	} {
		_, err := Parse("team.toml", []byte(x.text), t.TempDir())
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v, want %q", x.text, err, x.want)
		}
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lead.md"), []byte("Lead well."), 0o600); err != nil {
		t.Fatal(err)
	}
	team, err := Parse("team.toml", []byte("name = \"a\"\ndir = \"src\"\ncommand = [\"./run\", \"./x\"]\ninstructions_file = \"lead.md\"\n[[agent]]\nname = \"b\"\ndir = \"/abs\""), dir)
	if err != nil {
		t.Fatal(err)
	}
	a, b := team.Agents[0].New, team.Agents[1].New
	if a.Dir != dir+"/src" || a.Command[0] != dir+"/run" || a.Command[1] != "./x" || a.Instructions != "Lead well." || b.Dir != "/abs" {
		t.Errorf("%+v %+v", a, b)
	}
}

func TestFirst(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, x := range []struct {
		s    Schedule
		want time.Duration
	}{
		{Schedule{Every: time.Hour, At: -1}, time.Hour},
		{Schedule{Every: 24 * time.Hour, At: 2 * 60}, 14 * time.Hour},
		{Schedule{Every: 24 * time.Hour, At: 13*60 + 30}, 90 * time.Minute},
		{Schedule{Every: 24 * time.Hour, At: 12 * 60}, 24 * time.Hour},
	} {
		if got := x.s.First(now); got != x.want {
			t.Errorf("%+v: %v, want %v", x.s, got, x.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("name = \"lead\"\n[[agent]]\nname = \"a\"\n[[agent.schedule]]\nevery = \"1h\"\nmessage = \"x\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		team, err := Parse("team.toml", data, "/nowhere")
		if err != nil {
			return
		}
		team.Plan(Have{})
	})
}
