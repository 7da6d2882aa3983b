package team

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
)

func TestCreateIsRefused(t *testing.T) {
	st := tell(t)
	for name, tc := range map[string]struct {
		c    Create
		code substrat.Code
		why  string
	}{
		"second root":       {Create{ID: "x", Name: "x"}, substrat.CodeInternal, "second root"},
		"id in use":         {Create{ID: "coder", Name: "x", Parent: "lead"}, substrat.CodeInternal, "id is in use"},
		"no id":             {Create{Name: "x", Parent: "lead"}, substrat.CodeInternal, "id is in use"},
		"no parent":         {Create{ID: "x", Name: "x", Parent: "gone"}, substrat.CodeNotFound, "its parent is not in this team"},
		"name":              {Create{ID: "x", Name: "../x", Parent: "lead"}, substrat.CodeInvalid, "as a name"},
		"role":              {Create{ID: "x", Name: "x", Parent: "lead", Role: "boss"}, substrat.CodeInvalid, "worker, reviewer or manager"},
		"instructions":      {Create{ID: "x", Name: "x", Parent: "lead", Instructions: "a\xff"}, substrat.CodeInvalid, "not UTF-8"},
		"metadata":          {Create{ID: "x", Name: "x", Parent: "lead", Metadata: map[string]string{"k": "\xff"}}, substrat.CodeInvalid, "not UTF-8"},
		"long instructions": {Create{ID: "x", Name: "x", Parent: "lead", Instructions: strings.Repeat("x", 1<<20+1)}, substrat.CodeTooLarge, "over 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			st.t = t
			st.refused(user, tc.c, tc.code, tc.why)
		})
	}
}

func TestRootMustBeTheTeam(t *testing.T) {
	st := &story{t: t, s: New("team"), lim: DefaultLimits()}
	st.refused(user, Create{ID: "other", Name: "x"}, substrat.CodeInternal, "second root")
	st.refused(user, Create{ID: "team", Name: "x", Parent: "nobody"}, substrat.CodeNotFound, "its parent")
}

func TestTreeLimits(t *testing.T) {
	st := tell(t)
	st.lim.Depth, st.lim.Descendants = 3, 3
	st.must(user, Create{ID: "h", Name: "h", Parent: "coder"})
	st.refused(user, Create{ID: "x", Name: "deep", Parent: "h"}, substrat.CodeLimit, "3 levels")
	coder := st.busy("coder", "t1")
	st.refused(coder, Create{ID: "x", Name: "more"}, substrat.CodeLimit, "lead has 3 agents under it")
	st.must(user, Create{ID: "more", Name: "more", Parent: "coder"})
	st.must(user, Terminate{Agent: "more"})
	st.must(user, Terminate{Agent: "critic"})
	st.restart(true)
	st.must(coder, Create{ID: "x", Name: "more"})
	st.refused(coder, Create{ID: "y", Name: "again"}, substrat.CodeLimit, "lead has 3 agents under it")
}

func TestSpawnCountsAsAHop(t *testing.T) {
	st := tell(t)
	st.lim.Hops = 0
	coder := st.busy("coder", "t1")
	st.refused(coder, Create{ID: "x", Name: "x"}, substrat.CodeLimit, "this chain of messages is 0 long")
	st.lim.Hops = 1
	st.must(coder, Create{ID: "x", Name: "x", Instructions: "begin"})
	st.end(coder, substrat.Completed, "")
	x, _ := st.turn("x", "t2")
	st.refused(x, Create{ID: "y", Name: "y"}, substrat.CodeLimit, "this chain of messages is 1 long")
}

func TestChildInherits(t *testing.T) {
	limits := &substrat.TurnLimits{WallSeconds: 5}
	for name, tc := range map[string]struct{ c, want Create }{
		"all": {Create{}, Create{Provider: "sim", Role: substrat.Worker, Model: "m", Dir: "/w", Sandbox: substrat.Bubblewrap, Network: substrat.NetworkNone, Limits: limits}},
		"a provider has its own models and network": {
			Create{Provider: "cursor", Network: substrat.NetworkHost},
			Create{Provider: "cursor", Role: substrat.Worker, Dir: "/w", Sandbox: substrat.Bubblewrap, Network: substrat.NetworkHost, Limits: limits}},
		"a person may choose": {
			Create{Sandbox: substrat.NoSandbox, Dir: "/elsewhere", Role: substrat.Manager, Model: "n", Limits: &substrat.TurnLimits{}},
			Create{Provider: "sim", Role: substrat.Manager, Model: "n", Dir: "/elsewhere", Sandbox: substrat.NoSandbox, Network: substrat.NetworkNone, Limits: &substrat.TurnLimits{}}},
	} {
		t.Run(name, func(t *testing.T) {
			st := &story{t: t, s: New("lead"), lim: DefaultLimits()}
			st.must(user, Create{
				ID: "lead", Name: "lead", Provider: "sim", Model: "m", Dir: "/w", Role: substrat.Reviewer,
				Sandbox: substrat.Bubblewrap, Network: substrat.NetworkNone, Limits: limits,
			})
			tc.c.ID, tc.c.Name, tc.c.Parent = "x", "x", "lead"
			st.must(user, tc.c)
			a := st.s.Agents["x"]
			got := Create{Provider: a.Provider, Role: a.Role, Model: a.Model, Dir: a.Dir, Sandbox: a.Sandbox, Network: a.Network, Limits: a.Limits}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("child (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpawnNeverWidens(t *testing.T) {
	for _, tc := range []struct{ parent, asked, want substrat.Sandbox }{
		{substrat.Bubblewrap, "", substrat.Bubblewrap},
		{substrat.Bubblewrap, substrat.NoSandbox, substrat.Bubblewrap},
		{substrat.Bubblewrap, "nonsense", substrat.Bubblewrap},
		{substrat.NoSandbox, "", substrat.NoSandbox},
		{substrat.NoSandbox, substrat.Bubblewrap, substrat.Bubblewrap},
		{substrat.NoSandbox, substrat.Landlock, substrat.Landlock},
		{substrat.NoSandbox, "nonsense", substrat.NoSandbox},
		{substrat.Bubblewrap, substrat.Landlock, substrat.Bubblewrap},
		{substrat.Landlock, substrat.NoSandbox, substrat.Landlock},
		{substrat.Landlock, "", substrat.Landlock},
		{substrat.Landlock, substrat.Bubblewrap, substrat.Bubblewrap},
	} {
		st := tell(t)
		st.must(user, Create{ID: "p", Name: "p", Parent: "lead", Sandbox: tc.parent, Limits: &substrat.TurnLimits{WallSeconds: 1}})
		for i, who := range []Actor{st.busy("p", "t1"), operator("p")} {
			id := string(rune('a' + i))
			st.must(who, Create{ID: id, Name: id, Sandbox: tc.asked, Limits: &substrat.TurnLimits{WallSeconds: 9999}})
			if a := st.s.Agents[id]; a.Sandbox != tc.want || a.Limits.WallSeconds != 1 || a.Parent != "p" {
				t.Errorf("%+v: the child of %+v has %q and %+v", tc, who, a.Sandbox, a.Limits)
			}
		}
	}
}

func TestSpawnGetsNoMoreNetwork(t *testing.T) {
	st := tell(t)
	far := Create{ID: "x", Name: "x", Provider: "cursor", Network: substrat.NetworkHost}
	st.refused(st.busy("coder", "t1"), far, substrat.CodeForbidden, "provider cursor needs the network, which you do not have")
	st.must(user, Create{ID: "open", Name: "open", Parent: "lead", Provider: "cursor", Network: substrat.NetworkHost})
	st.must(st.busy("open", "t2"), far)
	if got := st.s.Agents["x"].Network; got != substrat.NetworkHost {
		t.Errorf("network %q", got)
	}
}

// Without a network namespace there is no door: a person says what takes its place, and a child gets no more than that.
func TestLandlockHasNoDoor(t *testing.T) {
	st := tell(t)
	c := Create{ID: "x", Name: "x", Parent: "lead", Provider: "cursor", Sandbox: substrat.Landlock, Network: substrat.NetworkDoor}
	st.refused(user, c, substrat.CodeInvalid, "no door")
	c.Network = substrat.NetworkNone
	st.must(user, c)
	c.ID, c.Name, c.Network = "y", "y", substrat.NetworkHost
	st.must(user, c)
	child := Create{ID: "c", Name: "c", Provider: "cursor", Network: substrat.NetworkDoor}
	st.refused(st.busy("x", "t1"), child, substrat.CodeForbidden, "needs the network, which you do not have")
	st.must(st.busy("y", "t2"), child)
	if a := st.s.Agents["c"]; a.Sandbox != substrat.Landlock || a.Network != substrat.NetworkHost {
		t.Errorf("the child has sandbox %s, network %s", a.Sandbox, a.Network)
	}
	inherits := Create{ID: "d", Name: "d", Parent: "y", Provider: "cursor", Network: substrat.NetworkDoor}
	st.refused(user, inherits, substrat.CodeInvalid, "no door")
}

func TestSpawnStaysInTheWorkspace(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	for _, out := range []string{"..", "../out", "a/../../out", "/etc", "a\x00b"} {
		st.refused(coder, Create{ID: "x", Name: "x", Subdir: out}, substrat.CodeInvalid, "not below the workspace")
	}
	st.refused(coder, Create{ID: "x", Name: "x", Dir: "/etc"}, substrat.CodeForbidden, "only the user names directories")
	st.refused(coder, Create{ID: "x", Name: "x", Session: "s", SessionPath: "/etc/passwd"}, substrat.CodeForbidden, "only the user gives one")
	for sub, want := range map[string]string{"sub": "/w/sub", "a/../b": "/w/b", ".": "/w", "": "/w"} {
		st.must(coder, Create{ID: "x", Name: "x", Subdir: sub})
		if got := st.s.Agents["x"].Dir; got != want {
			t.Errorf("subdir %q gives %q, want %q", sub, got, want)
		}
		st.must(user, Terminate{Agent: "x"})
	}
}

// What was spawned starts after the turn that spawned it, with its instructions if it was sent nothing.
func TestSpawnStartsAfterTheTurn(t *testing.T) {
	for _, outcome := range []substrat.Outcome{substrat.Completed, substrat.FailedTurn, substrat.Cancelled, substrat.Interrupted, substrat.TimedOut} {
		t.Run(string(outcome), func(t *testing.T) {
			st := tell(t)
			coder := st.busy("coder", "t1")
			created := decoded[Created](st, st.must(coder, Create{ID: "a", Name: "a", Instructions: "begin here"}))
			if diff := cmp.Diff(Created{Status: "created", AgentID: "a", Name: "a", Path: "lead/coder/a"}, created); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			st.must(coder, Create{ID: "b", Name: "b", Instructions: "stand by"})
			st.must(coder, Create{ID: "c", Name: "c"})
			st.must(coder, Send{ID: "m", Recipient: "b", Text: "do this"})
			st.ready()
			st.restart(true)
			st.end(coder, outcome, "spawned")
			st.queue("c")
			if _, prompt := st.turn("a", "t2"); prompt != "Message from coder:\nYou have been created. Begin with your instructions:\nbegin here" {
				t.Errorf("prompt %q", prompt)
			}
			if _, prompt := st.turn("b", "t3"); prompt != "Message from coder:\ndo this" {
				t.Errorf("prompt %q", prompt)
			}
		})
	}
}

// A child gets its instructions as a message once, not after every turn of its parent.
func TestSpawnStartsOnce(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	st.must(coder, Create{ID: "a", Name: "a", Instructions: "begin here"})
	st.end(coder, substrat.Completed, "")
	a, _ := st.turn("a", "t2")
	st.end(a, substrat.Completed, "")
	st.end(st.busy("coder", "t3"), substrat.Completed, "")
	st.queue("a")
}

func TestNobodyIsCreatedUnderWhoCompletes(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	st.must(coder, Complete{Result: "done"})
	st.refused(coder, Create{ID: "x", Name: "x"}, substrat.CodeConflict, "coder is completing")
	st.refused(user, Create{ID: "x", Name: "x", Parent: "coder"}, substrat.CodeConflict, "coder is completing")
}

// A conversation that an agent is created with is its session from the start, and stays known after a restart.
func TestCreateWithSession(t *testing.T) {
	st := tell(t)
	st.must(user, Create{ID: "heir", Name: "heir", Parent: "lead", Session: "s-1", SessionPath: "/home/x/store.db"})
	st.restart(true)
	if a := st.s.Agents["heir"]; a.Session != "s-1" || a.SessionPath != "/home/x/store.db" {
		t.Errorf("%+v", a)
	}
	if v := st.s.View("heir"); v.Session != "s-1" {
		t.Errorf("%+v", v)
	}
}
