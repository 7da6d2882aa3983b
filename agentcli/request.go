package agentcli

import (
	"context"

	"substrat.dev/substrat"
)

// Request is one turn to run.
type Request struct {
	Prompt string
	// Session is the conversation to resume; empty lets the CLI begin one of its own.
	Session string
	Model   string
	// Dir is the workspace, absolute, as the agent's process sees it.
	Dir string
	// Home is the private home of the agent, absolute, as the agent's process sees it.
	Home string
	// Env are variables that the host gives the process: keys and addresses, in place of those the provider has itself.
	Env map[string]string
	// Secret says that the prompt may hold a secret and must not appear in argv.
	Secret bool
	// Mode is how much the agent may do without asking.
	Mode Mode
	// Args are further arguments for the CLI, before the prompt.
	Args []string
	// MCP are the servers the agent is to have, beside those of its own configuration.
	MCP []MCPServer
	// Deny is what the agent must not do, as far as its CLI can be told.
	Deny []Denial
	// AskFirst says that the host decides by rules on single commands and files: a CLI that can ask is to do so before it runs or
	// changes anything, also where it would not in this mode.
	AskFirst bool
	// Instructions stand above every turn and survive the CLI's own compaction.
	Instructions string
	// Program is what an agent runs that is a program of the user's: the command and its arguments.
	Program []string
	// Turn names the turn to a CLI that is told; empty lets the provider make a name.
	Turn string
	// Messages are what was said before in this conversation, for a CLI that keeps none itself. With an empty Prompt the last
	// of them is what the turn is about.
	Messages []ChatMessage
	// Tools are those of the host, for a CLI that calls them by its own protocol and not over MCP. A nil one means none.
	Tools ToolSet
	// Profile names the account that the CLI is to work with, for one that knows several. Its variables and home are the
	// host's to give.
	Profile string
	// Recorded says that the conversation is a recording: nothing is written and no tool is called.
	Recorded bool
	// Agent is who the turn is for, where the host has teams.
	Agent *substrat.Agent
	// Live is set for a turn of a [LiveProvider].
	Live *LiveTurn
	// Bare says that the program runs in the user's own surroundings, without a sandbox or a private home: a provider then
	// asks only for the files that the request cannot do without.
	Bare bool
	// Ask decides what the agent asks during the turn, for a CLI that can ask. It may take as long as it needs; ctx ends with
	// the turn. Nil refuses permissions by their reject option, unless Mode is ModeForce, and skips questions and plans.
	Ask func(ctx context.Context, q Question) (Answer, error)
}

// Mode is how much an agent may do without asking, in terms that every CLI knows in words of its own.
type Mode string

// The modes. The empty one is ModeDefault.
const (
	// ModeDefault: what the CLI does by itself, with what its user allowed it.
	ModeDefault Mode = "default"
	// ModeForce: everything that is not denied, without asking.
	ModeForce Mode = "force"
	// ModePlan: read and plan, change nothing.
	ModePlan Mode = "plan"
	// ModeAsk: answer questions, change nothing.
	ModeAsk Mode = "ask"
)

// Denial is something that an agent must not do: a command, or the reading and writing of a file. In both, * stands for any
// text; a path that ends in /** includes what is under it.
type Denial struct {
	Command, Path string
}

// MCPServer is one MCP server: a program spoken to over stdio, or an address.
type MCPServer struct {
	Name    string            `json:"name"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// URL is set instead of Command for one spoken to over streamable HTTP; Headers go with each request.
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Command is what to run for a turn. The host owns exec, sandbox, spool, cancellation and limits.
type Command struct {
	Argv []string
	// Env are variables on top of the host's minimal set (PATH, HOME, LANG, TERM, TMPDIR).
	Env map[string]string
	// Stdin is written to the process first. Then its stdin is closed, unless KeepStdin: the conversation goes on with it.
	Stdin     []byte
	KeepStdin bool
	// Files are to exist before the process starts.
	Files []File
	// Exposes are host paths that the program needs to see, read-only: its installation, its credentials.
	Exposes []Expose
	// Network says whether the program needs to reach the network. Hosts are those that it needs to do its work: names, or *.name for
	// all below one, with a port where it is not that of the web. A host that keeps programs in a sandbox lets it reach these.
	Network bool
	Hosts   []string
	// Nested says that the program makes sandboxes of its own for what it runs.
	Nested bool
}

// FileRoot says what a File's path is relative to.
type FileRoot string

// The roots of files.
const (
	// InHome: the agent's private home; kept between turns, writable by the agent.
	InHome FileRoot = "home"
	// InWorkspaceConfig: a directory of the workspace that the CLI reads its configuration from. The host shows it
	// read-only in the workspace without writing into the user's tree. The first path element is that directory.
	InWorkspaceConfig FileRoot = "workspace-config"
)

// File is a generated file.
type File struct {
	Root FileRoot
	Path string // relative, slash-separated, no ".."
	Data []byte
	// KeepExisting leaves a file in the home alone when it is there already.
	KeepExisting bool
}

// Expose is a host path shown inside the sandbox, read-only.
type Expose struct {
	Host string // absolute on the host
	// At is where the process sees it; empty means at its own path. A path under the home starts with "~/".
	At string
	// Optional paths are skipped when they do not exist.
	Optional bool
}
