package cursor

// naming is how a native tool is called by everybody.
type naming struct{ name, kind, native string }

// names are the variants of tool_call, as listed by the CLI and recorded, with their own name as the key. A variant that is
// not here keeps its own name.
var names = func() map[string]naming {
	m := map[string]naming{
		"read":             {name: "Read", kind: "read"},
		"write":            {name: "Write", kind: "edit"},
		"edit":             {name: "Edit", kind: "edit"},
		"applyAgentDiff":   {name: "Edit", kind: "edit"},
		"delete":           {name: "Delete", kind: "delete"},
		"shell":            {name: "Bash", kind: "execute"},
		"writeShellStdin":  {name: "Bash", kind: "execute"},
		"ls":               {name: "Ls", kind: "read"},
		"glob":             {name: "Glob", kind: "search"},
		"grep":             {name: "Grep", kind: "search"},
		"semSearch":        {name: "Search", kind: "search"},
		"exaSearch":        {name: "WebSearch", kind: "search"},
		"webSearch":        {name: "WebSearch", kind: "search"},
		"webFetch":         {name: "Fetch", kind: "fetch"},
		"fetch":            {name: "Fetch", kind: "fetch"},
		"exaFetch":         {name: "Fetch", kind: "fetch"},
		"updateTodos":      {name: "Todo", kind: "think"},
		"readTodos":        {name: "Todo", kind: "think"},
		"task":             {name: "Task", kind: "think"},
		"askQuestion":      {name: "Ask", kind: "other"},
		"createPlan":       {name: "Plan", kind: "think"},
		"readLints":        {name: "Lints", kind: "read"},
		"generateImage":    {name: "Image", kind: "other"},
		"mcp":              {name: "MCP", kind: "other"},
		"getMcpTools":      {kind: "read"},
		"listMcpResources": {name: "MCP", kind: "read"},
		"readMcpResource":  {name: "MCP", kind: "read"},
		"await":            {kind: "execute"},
		"blameByFilePath":  {kind: "read"},
		"readCanvas":       {kind: "read"},
		"reflect":          {kind: "think"},
	}
	for native, n := range m {
		n.native = native
		if n.name == "" {
			n.name = native
		}
		m[native] = n
	}
	return m
}()
