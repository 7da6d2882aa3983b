package teamfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Have is what there is: the live agents by path, and their reminders.
type Have struct {
	Agents    map[string]substrat.Agent
	Reminders map[string][]substrat.Reminder
}

// Change is one step from what there is to what the file says. Exactly one of the fields below Text is set, but for
// notes, which only tell.
type Change struct {
	Path string
	// Text says what is done, for people.
	Text string

	Create  *substrat.NewAgent
	Set     *substrat.AgentChange
	Gate    *bool
	Budgets *[]substrat.Budget
	Send    string
	Remind  *Schedule
}

// Note reports whether a change only tells something.
func (c Change) Note() bool {
	return c.Create == nil && c.Set == nil && c.Gate == nil && c.Budgets == nil && c.Send == "" && c.Remind == nil
}

// Plan gives the changes: agents first, parents before children, then what they are sent, so that nobody begins before the
// team is there. At the end stands what it leaves alone.
func (t *Team) Plan(have Have) []Change {
	var out, sends []Change
	wanted := map[string]bool{}
	for _, a := range t.Agents {
		wanted[a.Path] = true
		is, there := have.Agents[a.Path]
		if !there {
			n := a.New
			n.Budgets = a.Budget
			out = append(out, Change{Path: a.Path, Text: "create", Create: &n})
		} else {
			out = append(out, a.differences(is)...)
		}
		if a.Message != "" && (!there || is.Turns == 0 && is.Pending == 0) {
			sends = append(sends, Change{Path: a.Path, Text: "send its first message", Send: a.Message})
		}
		for _, s := range a.Schedule {
			if !slices.ContainsFunc(have.Reminders[a.Path], func(r substrat.Reminder) bool {
				return r.Reason == s.Message && r.EverySeconds == int64(s.Every.Seconds())
			}) {
				sends = append(sends, Change{Path: a.Path, Text: fmt.Sprintf("schedule a message every %v", s.Every), Remind: &s})
			}
		}
	}
	out = append(out, sends...)
	root := t.Agents[0].Path
	for _, path := range slices.Sorted(maps.Keys(have.Agents)) {
		if !wanted[path] && (path == root || strings.HasPrefix(path, root+"/")) {
			out = append(out, Change{Path: path, Text: "is not in the file and is left alone"})
		}
	}
	return out
}

// differences are the changes that an agent which is there needs.
func (a *Agent) differences(is substrat.Agent) []Change {
	var out []Change
	var set substrat.AgentChange
	var what []string
	differ := func(name string, yes bool, do func()) {
		if yes {
			do()
			what = append(what, name)
		}
	}
	n := a.New
	differ("instructions", n.Instructions != is.Instructions, func() { set.Instructions = &n.Instructions })
	differ("model", n.Model != "" && n.Model != is.Model, func() { set.Model = &n.Model })
	differ("role", n.Role != "" && n.Role != is.Role, func() { set.Role = &n.Role })
	differ("metadata", !subset(n.Metadata, is.Metadata), func() {
		set.Metadata = maps.Clone(is.Metadata)
		if set.Metadata == nil {
			set.Metadata = map[string]string{}
		}
		maps.Copy(set.Metadata, n.Metadata)
	})
	differ("command", len(n.Command) > 0 && !slices.Equal(n.Command, is.Command), func() { set.Command = n.Command })
	differ("limits", n.Limits != nil && (is.Limits == nil || *n.Limits != *is.Limits), func() { set.Limits = n.Limits })
	if len(what) > 0 {
		out = append(out, Change{Path: a.Path, Text: "change " + strings.Join(what, ", "), Set: &set})
	}
	if n.Gated && !is.Gated {
		down := true
		out = append(out, Change{Path: a.Path, Text: "put its gate down", Gate: &down})
	}
	if a.Budget != nil && !slices.Equal(a.Budget, is.Budgets) {
		out = append(out, Change{Path: a.Path, Text: "set its budgets", Budgets: &a.Budget})
	}
	for _, x := range []struct {
		name, want, is string
	}{{"provider", n.Provider, is.Provider}, {"sandbox", string(n.Sandbox), string(is.Sandbox)}, {"network", string(n.Network), string(is.Network)}} {
		if x.want != "" && x.want != x.is {
			out = append(out, Change{Path: a.Path, Text: fmt.Sprintf("has %s %s, the file says %s: that cannot be changed, end it first", x.name, x.is, x.want)})
		}
	}
	if n.Dir != "" && !n.Worktree && n.Workspace == "" && n.Dir != is.Dir {
		out = append(out, Change{Path: a.Path, Text: fmt.Sprintf("works in %s, the file says %s: that cannot be changed, end it first", is.Dir, n.Dir)})
	}
	return out
}

// subset reports whether all notes of one are in the other.
func subset(want, is map[string]string) bool {
	for k, v := range want {
		if w, ok := is[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// First is how long after now a schedule's first message comes.
func (s Schedule) First(now time.Time) time.Duration {
	if s.At < 0 {
		return s.Every
	}
	y, m, d := now.Date()
	at := time.Date(y, m, d, s.At/60, s.At%60, 0, 0, now.Location())
	if !at.After(now) {
		at = time.Date(y, m, d+1, s.At/60, s.At%60, 0, 0, now.Location())
	}
	return max(at.Sub(now), time.Second)
}
