package substrat

import "time"

// AgentState is what an agent is doing, as far as its team is concerned.
type AgentState string

// The states of an agent. Exactly one holds at a time.
const (
	// Idle: no turn is open and no reply is awaited.
	Idle AgentState = "idle"
	// Busy: a turn is open.
	Busy AgentState = "busy"
	// Waiting: no turn is open and a reply to a sync message, or a person's answer to a question, is outstanding.
	Waiting AgentState = "waiting"
	// Gated: its gate is down: mail is queued, but it is not woken before the gate is lifted or one turn is permitted.
	Gated AgentState = "gated"
	// Failed: the last turn failed for good. A new message wakes the agent all the same.
	Failed AgentState = "failed"
	// Terminated: the agent has ended and takes no more messages.
	Terminated AgentState = "terminated"
)

// Role is advice to the agent plus a default for its workspace.
type Role string

// The roles. A reviewer's workspace is read-only; the others may write.
const (
	Worker   Role = "worker"
	Reviewer Role = "reviewer"
	Manager  Role = "manager"
)

// Sandbox says how an agent's processes are contained.
type Sandbox string

// The ways to contain a turn.
const (
	// Bubblewrap runs every turn in its own namespaces; a turn that cannot have them does not run.
	Bubblewrap Sandbox = "bwrap"
	// Landlock runs turns on the host, with what Landlock and a filter of system calls can hold and nothing else: for
	// hosts where bubblewrap cannot run. Only by explicit choice.
	Landlock Sandbox = "landlock"
	// NoSandbox runs turns as plain processes of the daemon's user. Only by explicit choice.
	NoSandbox Sandbox = "none"
)

// Holds says how much it holds: what an agent makes is never held by less than it is itself. An unknown one holds nothing.
func (s Sandbox) Holds() int {
	switch s {
	case Bubblewrap:
		return 2
	case Landlock:
		return 1
	}
	return 0
}

// Network says what an agent's processes can reach.
type Network string

// The network of a turn.
const (
	// NetworkNone: an empty network namespace; the agent's own socket is the only way out.
	NetworkNone Network = "none"
	// NetworkDoor: a network namespace whose only way out is the egress door, which lets named hosts through.
	NetworkDoor Network = "door"
	// NetworkHost: the host's network. Only by explicit choice, and what an agent without a sandbox has anyway.
	NetworkHost Network = "host"
)

// Reaches says how far it reaches: an agent never makes one that reaches further. An unknown network reaches furthest.
func (n Network) Reaches() int {
	switch n {
	case NetworkNone, "":
		return 0
	case NetworkDoor:
		return 1
	}
	return 2
}

// Agent is one node of a team, as listings show it.
type Agent struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Path     string     `json:"path"`
	State    AgentState `json:"state"`
	Provider string     `json:"provider"`
	Role     Role       `json:"role"`
	// Parent is the parent's path, empty for a root.
	Parent string `json:"parent"`
	// Team is the id of the root agent.
	Team string `json:"team"`
	// Pending counts messages that wait for a turn.
	Pending int `json:"pending"`
	// Turns counts turns that were started, whatever became of them.
	Turns   int     `json:"turns"`
	Sandbox Sandbox `json:"sandbox"`
	Network Network `json:"network"`
	Model   string  `json:"model,omitempty"`
	// Dir is the workspace on the host.
	Dir string `json:"dir"`
	// Session is the provider's conversation id, empty before the first turn.
	Session string `json:"session,omitempty"`
	// Turn is the open turn's id, if any.
	Turn string `json:"turn,omitempty"`
	// WaitingFor lists the recipients whose replies are outstanding, USER among them if a question is.
	WaitingFor []string `json:"waiting_for,omitempty"`
	// Gated says that the gate is down, Permitted that the next turn passes it all the same.
	Gated     bool `json:"gated,omitempty"`
	Permitted bool `json:"permitted,omitempty"`
	// Workspace is the reference of the named workspace it lives in, as its owner would write it; empty for a plain directory.
	Workspace string `json:"workspace,omitempty"`
	// Command is what a scripted agent runs.
	Command []string    `json:"command,omitempty"`
	Limits  *TurnLimits `json:"limits,omitempty"`
	// Budgets are its own; Spent is what it used, SpentBelow with everything under it.
	Budgets    []Budget `json:"budgets,omitempty"`
	Spent      *Spent   `json:"spent,omitempty"`
	SpentBelow *Spent   `json:"spent_below,omitempty"`
	// RetryAt is when the next attempt is due after a failed turn.
	RetryAt      *time.Time        `json:"retry_at,omitempty"`
	LastError    string            `json:"last_error,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	CreatedAt    time.Time         `json:"created_at"`
	EndedAt      *time.Time        `json:"ended_at,omitempty"`
}

// NewAgent is what a person gives to create an agent. Empty fields take defaults: the parent's for a child, the
// daemon's for a root.
type NewAgent struct {
	Name         string            `json:"name"`
	Parent       string            `json:"parent,omitempty"` // path, bare name or id
	Provider     string            `json:"provider,omitempty"`
	Role         Role              `json:"role,omitempty"`
	Dir          string            `json:"dir,omitempty"` // absolute host directory
	Instructions string            `json:"instructions,omitempty"`
	Model        string            `json:"model,omitempty"`
	Sandbox      Sandbox           `json:"sandbox,omitempty"`
	Network      Network           `json:"network,omitempty"` // default: door where the provider needs a network, else none
	Metadata     map[string]string `json:"metadata,omitempty"`
	Limits       *TurnLimits       `json:"limits,omitempty"`
	// Workspace names a workspace it is to live in, instead of Dir.
	Workspace string `json:"workspace,omitempty"`
	// Worktree gives it a git worktree of its own, on a branch of its own, of the repository that Dir is in.
	Worktree bool `json:"worktree,omitempty"`
	// Branch is the worktree's branch. Default: substrat/PATH.
	Branch  string   `json:"branch,omitempty"`
	Command []string `json:"command,omitempty"`
	Gated   bool     `json:"gated,omitempty"`
	Budgets []Budget `json:"budgets,omitempty"`
	// Session is a conversation that the provider's CLI keeps: the agent goes on with a copy of it. SessionPath is the file
	// that holds it; without one it is looked for in the home of the daemon's user.
	Session     string `json:"session,omitempty"`
	SessionPath string `json:"session_path,omitempty"`
}

// TurnLimits bounds one turn of an agent. Zero means the default.
type TurnLimits struct {
	// WallSeconds is the longest a turn may take. Default 7200.
	WallSeconds int `json:"wall_seconds,omitempty"`
	// SilenceSeconds is the longest a turn may print nothing. Agents are silent for minutes while they generate: default 1800.
	SilenceSeconds int `json:"silence_seconds,omitempty"`
	// OutputBytes is how much of a turn's output is kept; what comes after is dropped but for its end. Default 256 MiB.
	OutputBytes int64 `json:"output_bytes,omitempty"`
	// LineBytes is the longest line that is decoded; a longer one is skipped and noted. Default 32 MiB.
	LineBytes int `json:"line_bytes,omitempty"`
}

// AgentChange is what a person may change of an agent that exists. What is nil stays; its next turn has the new.
type AgentChange struct {
	Instructions *string           `json:"instructions,omitempty"`
	Model        *string           `json:"model,omitempty"`
	Role         *Role             `json:"role,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	Limits       *TurnLimits       `json:"limits,omitempty"`
	Command      []string          `json:"command,omitempty"`
}

// Reminder is a message that an agent, or a person, has set for an agent to get later.
type Reminder struct {
	ID     string    `json:"id"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	// EverySeconds is how often it comes again after that, 0 for never.
	EverySeconds int64 `json:"every_seconds,omitempty"`
}
