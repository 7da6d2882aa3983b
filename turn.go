package substrat

import "time"

// Outcome is how a turn ended. A turn has exactly one.
type Outcome string

// The outcomes.
const (
	Completed   Outcome = "completed"
	FailedTurn  Outcome = "failed"
	Cancelled   Outcome = "cancelled"
	TimedOut    Outcome = "timed_out"
	Interrupted Outcome = "interrupted"
)

// FailureClass says why a turn did not complete, for programs to decide on.
type FailureClass string

// The classes of failure.
const (
	ClassNotInstalled FailureClass = "not_installed"
	ClassAuth         FailureClass = "auth"
	ClassQuota        FailureClass = "quota"
	ClassRateLimit    FailureClass = "rate_limit"
	ClassSession      FailureClass = "unknown_session"
	ClassModel        FailureClass = "bad_model"
	ClassNetwork      FailureClass = "network"
	ClassLocked       FailureClass = "locked_store"
	ClassTrust        FailureClass = "untrusted_workspace"
	ClassConfig       FailureClass = "config_race"
	ClassProtocol     FailureClass = "protocol"
	ClassCrashed      FailureClass = "crashed"
	ClassSandbox      FailureClass = "sandbox"
	ClassWorkspace    FailureClass = "workspace" // it could not be made, or a link in it leads out
	ClassTools        FailureClass = "too_many_tools"
	ClassResources    FailureClass = "resources"   // it used more memory, processes or disk than it may
	ClassSecret       FailureClass = "missing_key" // of an MCP server; a provider's is ClassAuth
	ClassTimeout      FailureClass = "timeout"
	ClassSilence      FailureClass = "silence"
	ClassCancelled    FailureClass = "cancelled"
	ClassInterrupted  FailureClass = "interrupted"
	ClassAgent        FailureClass = "agent_error"
	ClassInternal     FailureClass = "internal"
)

// Usage is what a turn consumed, as far as the provider tells.
type Usage struct {
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	CacheReadTokens  int64 `json:"cache_read_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
}

// Turn is one prompt to one session and what became of it.
type Turn struct {
	ID        string       `json:"id"`
	Agent     string       `json:"agent"` // path
	AgentID   string       `json:"agent_id"`
	Team      string       `json:"team"`
	Session   string       `json:"session,omitempty"`
	Number    int          `json:"number"`
	Messages  []string     `json:"messages"`
	StartedAt time.Time    `json:"started_at"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"`
	Outcome   Outcome      `json:"outcome,omitempty"`
	Class     FailureClass `json:"class,omitempty"`
	Detail    string       `json:"detail,omitempty"`
	Text      string       `json:"text,omitempty"`
	ToolCalls int          `json:"tool_calls,omitempty"`
	Files     []string     `json:"files,omitempty"` // touched, as the agent reported them, at most 50
	Usage     *Usage       `json:"usage,omitempty"`
	// CostMicros is what it cost in millionths of a dollar, 0 if that is not known.
	CostMicros int64 `json:"cost_micros,omitempty"`
}
