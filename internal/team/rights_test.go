package team

import (
	"testing"

	"substrat.dev/substrat"
)

// TestRightsNeverWiden: T10. Whatever an agent makes, spawns or shows, nobody gets more by it than the agent has; and what is a
// parent's, a person's or another's to do, it is refused.
func TestRightsNeverWiden(t *testing.T) {
	st := tell(t)
	st.must(user, CreateWorkspace{ID: "w-user", Name: "shared", Dir: "/u"})
	st.must(operator("lead"), CreateWorkspace{ID: "w-lead", Name: "own", Dir: "/l"})
	st.must(operator("lead"), CreateWorkspace{ID: "w-home", Name: "home", Dir: "/h"})
	st.must(user, CreateWorkspace{ID: "w-net", Name: "far", Dir: "/n", Owner: "lead", Network: true})
	st.must(user, Create{ID: "rev", Name: "rev", Parent: "lead", Role: substrat.Reviewer})
	st.must(user, Create{ID: "sub", Name: "sub", Parent: "lead", Workspace: "w-home", Subdir: "part"})
	coder, rev, sub := st.busy("coder", "t1"), st.busy("rev", "t2"), st.busy("sub", "t3")
	worker := func(id, workspace, subdir string) Create {
		return Create{ID: id, Name: id, Role: substrat.Worker, Workspace: workspace, Subdir: subdir}
	}
	for name, x := range map[string]struct {
		who Actor
		c   Command
		why string
	}{
		"a worker of a reader":                   {rev, worker("x", "", ""), "may only read"},
		"a manager of a reader":                  {rev, Create{ID: "x", Name: "x", Role: substrat.Manager}, "may only read"},
		"a worker in the parent's":               {coder, worker("x", "../own", ""), "may only read"},
		"whatever in the parent's":               {coder, Create{ID: "x", Name: "x", Workspace: "../own"}, "may only read"},
		"a worker above where it lives":          {sub, worker("x", "../home", ""), "may only read"},
		"a worker beside where it lives":         {sub, worker("x", "../home", "party"), "may only read"},
		"a reviewer with the network":            {coder, Create{ID: "x", Name: "x", Role: substrat.Reviewer, Workspace: "../far"}, "which you do not have"},
		"a provider with the network":            {coder, Create{ID: "x", Name: "x", Provider: "cursor", Network: substrat.NetworkHost}, "which you do not have"},
		"a network nobody knows":                 {coder, Create{ID: "x", Name: "x", Provider: "cursor", Network: "martian"}, "which you do not have"},
		"a directory of the host":                {coder, Create{ID: "x", Name: "x", Dir: "/etc"}, "only the user"},
		"a session of the host":                  {coder, Create{ID: "x", Name: "x", SessionPath: "/etc/passwd"}, "only the user"},
		"a workspace with the network":           {coder, CreateWorkspace{ID: "w", Name: "w", Dir: "/w2", Network: true}, "you do not have it"},
		"a worktree where it reads":              {rev, CreateWorkspace{ID: "w", Name: "w", Dir: "/w2", Tree: &Tree{Repo: "/r", Branch: "b"}}, "only read the repository"},
		"a link from the host":                   {coder, LinkDir{At: "x", Workspace: "mine", Host: "/etc"}, "only the user"},
		"a link over configuration":              {coder, LinkDir{At: ".claude", Workspace: "mine"}, "configuration"},
		"a link over configuration further down": {coder, LinkDir{At: "sub/.vscode", Workspace: "mine"}, "configuration"},
		"a link in the parent's":                 {coder, LinkDir{At: "x", Workspace: "../own"}, "your parent's"},
		"the parent's workspace gone":            {coder, DeleteWorkspace{Ref: "../own"}, "your parent's"},
		"a sibling gone":                         {coder, Terminate{Agent: "critic"}, ""},
		"the parent gone":                        {coder, Terminate{Agent: "lead"}, ""},
		"a sibling gated":                        {coder, Gate{Agent: "critic", Down: true}, "no child of yours"},
		"itself ungated":                         {coder, Gate{Agent: "coder"}, "no child of yours"},
		"its own turn permitted":                 {coder, Permit{Agent: "coder"}, "no child of yours"},
		"a sibling poked":                        {coder, Poke{Agent: "critic"}, "no child of yours"},
		"itself changed":                         {coder, Change{Agent: "coder"}, ""},
		"its budget":                             {coder, SetBudgets{Agent: "coder"}, ""},
		"a host let through":                     {coder, AllowHost{Agent: "coder", Host: "evil.example"}, ""},
		"an answer to itself":                    {coder, AnswerItem{ID: "q"}, ""},
		"an account released":                    {coder, ReleaseAccount{Account: "x"}, "only a person"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a link from the host" {
				st.must(coder, CreateWorkspace{ID: "w-mine", Name: "mine", Dir: "/m"})
				defer st.must(user, DeleteWorkspace{Ref: "w-mine"})
			}
			if l, ok := x.c.(LinkDir); ok && l.Workspace == "mine" && st.s.Workspaces["w-mine"] == nil {
				st.must(coder, CreateWorkspace{ID: "w-mine", Name: "mine", Dir: "/m"})
				defer st.must(user, DeleteWorkspace{Ref: "w-mine"})
			}
			before := st.s.Seq
			_, _, err := Decide(st.s, Meta{At: st.now, Actor: x.who, Limits: st.lim}, x.c)
			if err == nil || st.s.Seq != before {
				t.Fatal("it is done")
			}
			if x.why != "" {
				st.refused(x.who, x.c, substrat.CodeForbidden, x.why)
			}
		})
	}
	// What is narrower is given.
	st.must(rev, Create{ID: "r1", Name: "r1"})
	if got := st.s.Agents["r1"].Role; got != substrat.Reviewer || !st.s.Living("r1").ReadOnly {
		t.Errorf("a reader's child is a %s", got)
	}
	st.must(coder, Create{ID: "r2", Name: "r2", Role: substrat.Reviewer, Workspace: "../own"})
	st.must(sub, worker("s1", "../home", "part/deeper"))
	st.must(rev, CreateWorkspace{ID: "w-rev", Name: "desk", Dir: "/d"})
	st.must(rev, worker("r3", "desk", ""))
	st.must(coder, CreateWorkspace{ID: "w-view", Name: "view", ViewOf: "../own"})
	st.must(coder, worker("c1", "view", ""))
	if !st.s.Living("c1").ReadOnly || st.s.Living("r3").ReadOnly || st.s.Living("s1").ReadOnly {
		t.Error("a view of the parent's can be written, or what may be written cannot")
	}
}

// TestApprovedForGood: T7. "always" holds for the content it was given for, for that agent, and over a restart.
func TestApprovedForGood(t *testing.T) {
	st := tell(t)
	st.tellAgent("coder", "m1")
	a, _ := st.turn("coder", "t1")
	ask := AskInTurn{ID: "i1", Kind: substrat.ItemPermission, Text: "Bash", Options: []string{"allow", Always, "deny"}, Default: "deny", Tool: "Bash", Content: "sum"}
	st.must(a, ask)
	st.must(user, AnswerItem{ID: "i1", Answer: substrat.Answer{Choices: []string{"allow"}}})
	if st.s.Approved("coder", "sum") {
		t.Error("once is taken for always")
	}
	ask.ID = "i2"
	st.must(a, ask)
	st.must(user, AnswerItem{ID: "i2", Answer: substrat.Answer{Choices: []string{Always}}})
	st.restart(true)
	if !st.s.Approved("coder", "sum") || st.s.Approved("coder", "sun") || st.s.Approved("critic", "sum") || st.s.Approved("coder", "") {
		t.Errorf("%q is approved", st.s.Agents["coder"].Approved)
	}
	ask.ID, ask.Kind, ask.Content = "i3", substrat.ItemQuestion, "other"
	st.must(a, ask)
	st.must(user, AnswerItem{ID: "i3", Answer: substrat.Answer{Choices: []string{Always}}})
	if st.s.Approved("coder", "other") {
		t.Error("a question approves")
	}
}
