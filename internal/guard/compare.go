package guard

import (
	"maps"
	"slices"
	"strings"
)

// Change is what became of a file.
type Change string

// What may have become of a file.
const (
	Created    Change = "created"
	Changed    Change = "changed"
	Removed    Change = "removed"
	BecameLink Change = "became a link"
)

// Finding is one file that is obeyed and was changed between two looks. Whoever could write there may have done it.
type Finding struct {
	// Path is relative to the workspace, as it is on disk; it may hold anything, so show Text.
	Path   string `json:"path"`
	Change Change `json:"change"`
	By     string `json:"by"`
	Does   Does   `json:"does"`
	// New is what the content now says that it did not say before: commands, addresses. It is escaped.
	New []string `json:"new,omitempty"`
}

// Text says it to a person, on one line, escaped.
func (f Finding) Text() string {
	text := Escape(f.Path, 300) + " " + string(f.Change) + " (" + f.By + ": " + string(f.Does) + ")"
	if len(f.New) > 0 {
		text += ": " + strings.Join(f.New, "; ")
	}
	return text
}

// Compare gives what was done between two looks at one workspace, sorted by path.
func Compare(before, after Snapshot) []Finding {
	var out []Finding
	for _, p := range slices.Sorted(maps.Keys(after.Entries)) {
		now := after.Entries[p]
		was, known := before.Entries[p]
		if f := (Finding{Path: p, By: now.By, Does: now.Does}); difference(was, known, now, before, &f) {
			out = append(out, f)
		}
	}
	if after.Cut {
		return out // what is not there may only not have been looked at
	}
	for p, was := range before.Entries {
		if _, there := after.Entries[p]; !there && was.Kind != "dir" && (!was.Sifted || len(was.Tells) > 0) {
			out = append(out, Finding{Path: p, Change: Removed, By: was.By, Does: was.Does})
		}
	}
	slices.SortFunc(out, func(a, b Finding) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// difference says whether an entry is a finding, and fills in what it is.
func difference(was Entry, known bool, now Entry, before Snapshot, f *Finding) bool {
	for _, t := range now.Tells {
		if !slices.Contains(was.Tells, t) {
			f.New = append(f.New, t)
		}
	}
	f.Change = Changed
	switch {
	case now.Kind == "dir":
		return false // what is in it counts
	case !known:
		f.Change = Created
		if now.Kind == "link" {
			f.Change = BecameLink
		}
		if before.Cut && now.CTime != 0 && now.CTime < before.Taken.UnixNano() {
			return false // it was there, where nobody looked
		}
		return !now.Sifted || len(f.New) > 0
	case now.Kind == "link" && (was.Kind != "link" || was.Target != now.Target):
		f.Change = BecameLink
		return true
	case now.Kind != was.Kind:
		return true
	case now.Sifted && was.Sifted:
		return len(f.New) > 0
	case now.Sum != "" && was.Sum != "":
		// Who may run it matters as much as what it says.
		return now.Sum != was.Sum || (now.Mode^was.Mode)&0o111 != 0
	default:
		return now.Sum != was.Sum || now.Size != was.Size || now.MTime != was.MTime || now.CTime != was.CTime || now.Inode != was.Inode
	}
}
