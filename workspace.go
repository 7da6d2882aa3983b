package substrat

import "time"

// Workspace is a named directory that agents can live in.
type Workspace struct {
	ID   string `json:"id"`
	Name string `json:"name"`
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
