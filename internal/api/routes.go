package api

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// access says who may call a route. The control socket takes its owner only, so for now the levels document what a
// narrower token will be allowed.
type access string

const (
	read    access = "read"    // looks
	write   access = "write"   // changes teams
	control access = "control" // changes the daemon, or speaks for an agent
)

// route is one row of the API.
type route struct {
	method, path string
	access       access
	id, summary  string
	status       int
	add          func(*server, huma.Operation)
}

// routes is the whole API.
var routes = []route{
	{http.MethodGet, "/v1/status", read, "status", "What the daemon is doing", 200, handle((*server).status)},
	{http.MethodPost, "/v1/shutdown", control, "shutdown", "Stop the daemon; turns go on, are waited for, or are cancelled", 202, handle((*server).shutdown)},

	{http.MethodPost, "/v1/agents", write, "create-agent", "Create an agent; no process is started", 201, handle((*server).createAgent)},
	{http.MethodGet, "/v1/agents", read, "list-agents", "List agents, parents before children", 200, handle((*server).listAgents)},
	{http.MethodGet, "/v1/agents/{ref}", read, "get-agent", "Show an agent", 200, handle((*server).getAgent)},
	{http.MethodDelete, "/v1/agents/{ref}", write, "terminate-agent", "End an agent and everything under it", 200, handle((*server).terminateAgent)},
	{http.MethodGet, "/v1/agents/{ref}/inspect", read, "inspect-agent", "Show an agent with its recent turns and its mailbox", 200, handle((*server).inspectAgent)},
	{http.MethodPost, "/v1/agents/{ref}/stop", write, "stop-turn", "Cancel the open turn of an agent", 200, handle((*server).stopTurn)},
	{http.MethodPost, "/v1/agents/{ref}/suspend", write, "suspend-agent", "End the process that an agent keeps between its turns", 200, handle((*server).suspendAgent)},
	{http.MethodPost, "/v1/agents/{ref}/messages", write, "send-message", "Send a message as USER; the answer leaves when it is durable", 201, handle((*server).sendMessage)},
	{http.MethodGet, "/v1/agents/{ref}/turns", read, "list-turns", "List the turns of an agent, newest last", 200, handle((*server).listTurns)},
	{http.MethodGet, "/v1/agents/{ref}/stream", read, "stream-agent", "Follow the turns of an agent live; resumes from Last-Event-ID or ?from=TURN.OFFSET", 200,
		stream("Server-sent events `started`, `event` and `ended`; the id is TURN.OFFSET, the data a StreamItem.", (*server).streamAgent)},
	{http.MethodPatch, "/v1/agents/{ref}", write, "change-agent", "Change an agent; its next turn has the new", 200, handle((*server).change)},
	{http.MethodGet, "/v1/agents/{ref}/net", read, "list-attempts", "List what an agent's processes tried to reach", 200, handle((*server).attempts)},
	{http.MethodGet, "/v1/agents/{ref}/sandbox", read, "get-sandbox", "Tell what the sandbox of an agent's next turn would be", 200, handle((*server).sandbox)},
	{http.MethodPost, "/v1/agents/{ref}/shell", control, "open-shell", "Ready an agent's sandbox for a person's command; on the socket only", 101,
		stream("One line of JSON, what to start; the sandbox is kept ready until the connection is closed.", (*server).shell)},
	{http.MethodGet, "/v1/agents/{ref}/why", read, "why-agent", "Tell what keeps an agent from running", 200, handle((*server).why)},
	{http.MethodPost, "/v1/agents/{ref}/gate", write, "gate-agent", "Put an agent's gate down, or lift it", 200, handle((*server).gate)},
	{http.MethodPost, "/v1/agents/{ref}/permit", write, "permit-turn", "Let one turn of a gated agent through", 200, handle((*server).permit)},
	{http.MethodPost, "/v1/agents/{ref}/poke", write, "poke-agent", "Retry a failed turn with the same input", 200, handle((*server).poke)},
	{http.MethodPut, "/v1/agents/{ref}/budgets", write, "set-budgets", "Replace an agent's budgets; what was used stays counted", 200, handle((*server).setBudgets)},
	{http.MethodGet, "/v1/agents/{ref}/reminders", read, "list-reminders", "List an agent's reminders", 200, handle((*server).reminders)},
	{http.MethodPost, "/v1/agents/{ref}/reminders", write, "set-reminder", "Send an agent a message later, once or again and again", 201, handle((*server).remind)},
	{http.MethodDelete, "/v1/agents/{ref}/reminders/{id}", write, "cancel-reminder", "Take a reminder back", 200, handle((*server).cancelReminder)},
	{http.MethodGet, "/v1/agents/{ref}/mcp", control, "speak-as-agent", "Speak an agent's MCP tools as the operator; needs `Upgrade: mcp`", 101,
		stream("The connection carries MCP messages, one a line.", (*server).speakAs)},

	{http.MethodGet, "/v1/workspaces", read, "list-workspaces", "List workspaces", 200, handle((*server).listWorkspaces)},
	{http.MethodPost, "/v1/workspaces", write, "create-workspace", "Make a workspace: a directory, a view, or a git worktree", 201, handle((*server).createWorkspace)},
	{http.MethodGet, "/v1/workspaces/{ref}", read, "get-workspace", "Show a workspace", 200, handle((*server).getWorkspace)},
	{http.MethodDelete, "/v1/workspaces/{ref}", write, "delete-workspace", "Delete a workspace; nothing uncommitted or unmerged goes without force", 200, handle((*server).deleteWorkspace)},
	{http.MethodGet, "/v1/workspaces/{ref}/diff", read, "diff-workspace", "Tell what was done in a git worktree", 200, handle((*server).diffWorkspace)},
	{http.MethodPost, "/v1/workspaces/{ref}/merge", write, "merge-workspace", "Merge a git worktree's branch", 200, handle((*server).mergeWorkspace)},
	{http.MethodPost, "/v1/workspaces/{ref}/links", write, "link-workspace", "Show a directory in a workspace", 200, handle((*server).linkWorkspace)},
	{http.MethodDelete, "/v1/workspaces/{ref}/links", write, "unlink-workspace", "Take a link away", 200, handle((*server).unlinkWorkspace)},
	{http.MethodPut, "/v1/workspaces/{ref}/env", write, "capture-env", "Run a script in a workspace and keep the environment it leaves", 200, handle((*server).captureEnv)},

	{http.MethodGet, "/v1/search", read, "search", "Search messages and transcripts", 200, handle((*server).search)},
	{http.MethodGet, "/v1/queue", read, "list-queue", "List what needs a person, oldest first", 200, handle((*server).listQueue)},
	{http.MethodGet, "/v1/queue/{id}", read, "get-item", "Show an item of the queue", 200, handle((*server).getItem)},
	{http.MethodPost, "/v1/queue/{id}", write, "answer-item", "Answer an item of the queue", 200, handle((*server).answerItem)},
	{http.MethodGet, "/v1/graph", read, "graph", "Tell who waits for whom, and in which circles", 200, handle((*server).graph)},
	{http.MethodPost, "/v1/resume", write, "resume-account", "Let the agents of a provider's account go on", 200, handle((*server).resume)},

	{http.MethodGet, "/v1/messages", read, "list-messages", "List messages with their receipts, in order of sending", 200, handle((*server).listMessages)},
	{http.MethodGet, "/v1/messages/{id}", read, "get-message", "Show a message with its receipt", 200, handle((*server).getMessage)},
	{http.MethodGet, "/v1/messages/{id}/receipt", read, "wait-message", "Wait until a message is final", 200, handle((*server).waitMessage)},
	{http.MethodGet, "/v1/turns/{id}", read, "get-turn", "Show a turn", 200, handle((*server).getTurn)},
	{http.MethodGet, "/v1/events", read, "stream-events", "Follow the journal; resumes from Last-Event-ID or ?after=SEQ; ?follow=false ends at the end", 200,
		stream("Server-sent events named by their type; the id is the event's seq, the data an Event.", (*server).streamEvents)},
}

// pathParams lists the names in braces of a path.
func pathParams(path string) []string {
	var out []string
	for _, part := range strings.Split(path, "/") {
		if strings.HasPrefix(part, "{") {
			out = append(out, strings.Trim(part, "{}"))
		}
	}
	return out
}
