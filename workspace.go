package substrat

import "time"

// Workspace is a named directory that agents can live in.
type Workspace struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Ref names it for people: lead/src, lead/../src for the user's in the team of lead.
	Ref  string `json:"ref"`
	Team string `json:"team"`
	// Owner is the path of the agent that made it, or USER.
	Owner string `json:"owner"`
	// Dir is the directory on the host.
	Dir      string `json:"dir"`
	ReadOnly bool   `json:"read_only,omitempty"`
	Network  bool   `json:"network,omitempty"`
	// ViewOf is the name of the workspace this one shows a part of, Subdir which part.
	ViewOf string          `json:"view_of,omitempty"`
	Subdir string          `json:"subdir,omitempty"`
	Links  []WorkspaceLink `json:"links,omitempty"`
	// Repo, Branch and Base describe a git worktree.
	Repo   string `json:"repo,omitempty"`
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"`
	// Env is the captured environment that turns in it begin with.
	Env       *WorkspaceEnv `json:"env,omitempty"`
	Residents []string      `json:"residents,omitempty"` // paths of the agents that live in it
	CreatedAt time.Time     `json:"created_at"`
	// Left says that it is no workspace any more: its team has ended, or it was deleted and held what is nowhere else. Only
	// ID, Ref and Dir are known.
	Left bool `json:"left,omitempty"`
}

// WorkspaceLink shows a directory of another workspace inside this one.
type WorkspaceLink struct {
	// At is where, relative to the workspace.
	At string `json:"at"`
	// From is the workspace it comes from, Dir the directory in it.
	From     string `json:"from"`
	Dir      string `json:"dir"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// WorkspaceEnv is what a shell left behind: variables to set and to unset, and where it stood.
type WorkspaceEnv struct {
	Set   map[string]string `json:"set,omitempty"`
	Unset []string          `json:"unset,omitempty"`
	// Dir is relative to the workspace.
	Dir string `json:"dir,omitempty"`
}

// NewWorkspace is what a person gives to make a workspace.
type NewWorkspace struct {
	Name string `json:"name"`
	// Agent is an agent of the team it is for. It owns the workspace if Own is set; otherwise the user does.
	Agent string `json:"agent"`
	Own   bool   `json:"own,omitempty"`
	// Dir is a host directory to show. Without it the daemon makes one, or a worktree, or a view.
	Dir string `json:"dir,omitempty"`
	// Worktree makes it a git worktree of the repository that this directory is in, on Branch (default substrat/NAME),
	// branched from Base (default what is checked out there).
	Worktree string `json:"worktree,omitempty"`
	Branch   string `json:"branch,omitempty"`
	Base     string `json:"base,omitempty"`
	// ViewOf shows a part of another workspace: Subdir of it.
	ViewOf   string `json:"view_of,omitempty"`
	Subdir   string `json:"subdir,omitempty"`
	ReadOnly bool   `json:"read_only,omitempty"`
	Network  bool   `json:"network,omitempty"`
}

// WorkspaceDiff is what was done in a git worktree.
type WorkspaceDiff struct {
	Branch string `json:"branch"`
	Base   string `json:"base"`
	// Ahead and Behind count commits against the base; Uncommitted are files that are in no commit.
	Ahead       int      `json:"ahead"`
	Behind      int      `json:"behind"`
	Uncommitted []string `json:"uncommitted,omitempty"`
	Files       []string `json:"files,omitempty"`
	// Text is a unified diff, Cut whether there is more of it.
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"`
}

// WorkspaceMerge is what a merge did.
type WorkspaceMerge struct {
	Into        string   `json:"into"`
	Commit      string   `json:"commit,omitempty"`
	UpToDate    bool     `json:"up_to_date,omitempty"`
	FastForward bool     `json:"fast_forward,omitempty"`
	Files       []string `json:"files,omitempty"`
}

// NewLink shows a directory in a workspace: Dir of the workspace Source, or the host directory Host.
type NewLink struct {
	At       string `json:"at"`
	Source   string `json:"source,omitempty"`
	Dir      string `json:"dir,omitempty"`
	Host     string `json:"host,omitempty"`
	ReadOnly bool   `json:"read_only,omitempty"`
}
