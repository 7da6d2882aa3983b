package cursor

// naming is how a native tool is called by everybody.
type naming struct{ name, kind string }

// names are the variants of tool_call, as listed by the CLI and recorded. A variant that is not here keeps its own name.
var names = map[string]naming{
	"read":             {"Read", "read"},
	"write":            {"Write", "edit"},
	"edit":             {"Edit", "edit"},
	"applyAgentDiff":   {"Edit", "edit"},
	"delete":           {"Delete", "delete"},
	"shell":            {"Bash", "execute"},
	"writeShellStdin":  {"Bash", "execute"},
	"ls":               {"Ls", "read"},
	"glob":             {"Glob", "search"},
	"grep":             {"Grep", "search"},
	"semSearch":        {"Search", "search"},
	"exaSearch":        {"WebSearch", "search"},
	"webSearch":        {"WebSearch", "search"},
	"webFetch":         {"Fetch", "fetch"},
	"fetch":            {"Fetch", "fetch"},
	"exaFetch":         {"Fetch", "fetch"},
	"updateTodos":      {"Todo", "think"},
	"readTodos":        {"Todo", "think"},
	"task":             {"Task", "think"},
	"askQuestion":      {"Ask", "other"},
	"createPlan":       {"Plan", "think"},
	"readLints":        {"Lints", "read"},
	"generateImage":    {"Image", "other"},
	"mcp":              {"MCP", "other"},
	"listMcpResources": {"MCP", "read"},
	"readMcpResource":  {"MCP", "read"},
}
