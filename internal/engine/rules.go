package engine

import (
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/secret"
	"substrat.dev/substrat/internal/team"
)

// Rules are what the person who owns the daemon has configured. The methods are pure and safe for concurrent use.
type Rules interface {
	// Limits bound the team of a root.
	Limits(root string) team.Limits
	// Hold names the rule that holds a message between agents for a person, "" if none does.
	Hold(m *substrat.Message) string
	// Budgets are those that an agent is created with.
	Budgets(path string, role substrat.Role) []substrat.Budget
	// Policy decides about a call of one of the agents' tools, or of a tool of the CLI's own that it asks leave for.
	Policy(c Call) Ruling
	// Denials are what an agent's CLI is to refuse. One that asks for leave is not told what a policy leaves to a person.
	Denials(path string, role substrat.Role, asks bool) []agentcli.Denial
	// AskFirst says that the rules may refuse an agent what its CLI does by itself, or leave it to a person; own are the tools
	// that are Substrat's, which have their own way of asking.
	AskFirst(path string, role substrat.Role, own []string) bool
	// Pools bound how many processes of a provider may run at once; one that is not there has no bound of its own.
	Pools() map[string]int
	// FreeLeast is how much memory must be free before a process is started, 0 for any.
	FreeLeast() uint64
	// SuspendAfter is how long a live session may be idle.
	SuspendAfter() time.Duration
	// Surroundings are further variables for a provider's processes, and paths of the host that they are to see.
	Surroundings(provider string) (env map[string]secret.Source, paths []string)
	// Walls are what is said of the sandbox of an agent and what is around it.
	Walls(path string, role substrat.Role, provider string) Walls
	// Guard says whether the files in workspaces that programs obey are protected, and which of them agents may write all the same.
	Guard() (protect bool, allow []string)
	// Account names what the limits of a provider are counted on.
	Account(provider string) string
	// Cost is what usage costs in millionths of a dollar, if that is known.
	Cost(provider, model string, u substrat.Usage) (micros int64, known bool)
	// Model resolves an alias; DefaultModel is a provider's where an agent names none.
	Model(name string) string
	DefaultModel(provider string) string
	// Servers are further MCP servers that an agent is to have; ToolCap is how many tools its provider takes, 0 for any.
	Servers(path string, role substrat.Role) []Server
	ToolCap(provider string) int
	// Rates bound the calls of tools.
	Rates() Rates
}

// Call is a call of a tool that a policy is asked about.
type Call struct {
	Path string
	Role substrat.Role
	Tool string
	// Command and File are what a tool of the CLI's own would run, or touch.
	Command, File string
}

// Ruling is a policy's word on a call.
type Ruling struct {
	// Effect is allow, deny or ask; Rule names the rule and Reason says why, for the agent.
	Effect, Rule, Reason string
}

// The effects of a policy.
const (
	Allow = "allow"
	Deny  = "deny"
	Asks  = "ask"
)

// Server is an MCP server beside Substrat's own. Env says where its variables come from. Tools is how many it has, 0 if that
// is not known.
type Server struct {
	agentcli.MCPServer
	Env map[string]secret.Source
	// Headers go with each request to one that is an address; they hide those of MCPServer.
	Headers map[string]Header
	Tools   int
}

// Header is where the value of a header comes from, and what stands before it.
type Header struct {
	Scheme string
	Value  secret.Source
}

// Rates bound how many tools an agent, and a team, may call in a minute, and how many at once. 0 means no bound.
type Rates struct {
	AgentPerMinute, AgentBurst int
	TeamPerMinute, TeamBurst   int
}

// DefaultRates let busy agents work and stop those that call in circles.
func DefaultRates() Rates {
	return Rates{AgentPerMinute: 600, AgentBurst: 100, TeamPerMinute: 3000, TeamBurst: 500}
}

// cursorToolCap is how many tools cursor-agent takes over all MCP servers; the simulator follows it.
const cursorToolCap = 40

// NoRules is a daemon without a configuration.
type NoRules struct{}

// Limits implements Rules.
func (NoRules) Limits(string) team.Limits { return team.DefaultLimits() }

// Hold implements Rules.
func (NoRules) Hold(*substrat.Message) string { return "" }

// Budgets implements Rules.
func (NoRules) Budgets(string, substrat.Role) []substrat.Budget { return nil }

// Policy implements Rules.
func (NoRules) Policy(Call) Ruling { return Ruling{Effect: Allow} }

// Denials implements Rules.
func (NoRules) Denials(string, substrat.Role, bool) []agentcli.Denial { return nil }

// AskFirst implements Rules.
func (NoRules) AskFirst(string, substrat.Role, []string) bool { return false }

// Pools implements Rules.
func (NoRules) Pools() map[string]int { return nil }

// FreeLeast implements Rules.
func (NoRules) FreeLeast() uint64 { return 0 }

// SuspendAfter implements Rules.
func (NoRules) SuspendAfter() time.Duration { return 10 * time.Minute }

// Surroundings implements Rules.
func (NoRules) Surroundings(string) (env map[string]secret.Source, paths []string) { return nil, nil }

// Walls implements Rules.
func (NoRules) Walls(string, substrat.Role, string) Walls { return Walls{Turn: DefaultResources()} }

// Guard implements Rules.
func (NoRules) Guard() (protect bool, allow []string) { return true, nil }

// Account implements Rules.
func (NoRules) Account(provider string) string { return provider }

// Cost implements Rules.
func (NoRules) Cost(string, string, substrat.Usage) (micros int64, ok bool) { return 0, false }

// Model implements Rules.
func (NoRules) Model(name string) string { return name }

// DefaultModel implements Rules.
func (NoRules) DefaultModel(string) string { return "" }

// Servers implements Rules.
func (NoRules) Servers(string, substrat.Role) []Server { return nil }

// Rates implements Rules.
func (NoRules) Rates() Rates { return DefaultRates() }

// ToolCap implements Rules.
func (NoRules) ToolCap(provider string) int {
	if provider == "cursor" || provider == "sim" {
		return cursorToolCap
	}
	return 0
}
