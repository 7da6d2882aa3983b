package acp

import "encoding/json"

// The shapes of the protocol, as far as a client needs them. Members that agents add, or leave out, do no harm.

type initialized struct {
	ProtocolVersion int `json:"protocolVersion"`
	Capabilities    struct {
		LoadSession bool `json:"loadSession"`
		MCP         struct {
			HTTP bool `json:"http"`
			SSE  bool `json:"sse"`
		} `json:"mcpCapabilities"`
		Session struct {
			Resume json.RawMessage `json:"resume"`
			List   json.RawMessage `json:"list"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	AuthMethods []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"authMethods"`
}

// session answers session/new, session/load and session/resume.
type session struct {
	SessionID string        `json:"sessionId"`
	Modes     *modes        `json:"modes"`
	Models    *models       `json:"models"`
	Options   []configValue `json:"configOptions"`
}

type modes struct {
	Current   string `json:"currentModeId"`
	Available []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"availableModes"`
}

type models struct {
	Current   string `json:"currentModelId"`
	Available []struct {
		ID   string `json:"modelId"`
		Name string `json:"name"`
	} `json:"availableModels"`
}

// configValue is one option of a session, of type select. Values may be grouped.
type configValue struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Category string          `json:"category"`
	Current  json.RawMessage `json:"currentValue"`
	Options  []struct {
		Value   string `json:"value"`
		Name    string `json:"name"`
		Options []struct {
			Value string `json:"value"`
			Name  string `json:"name"`
		} `json:"options"`
	} `json:"options"`
}

type updateParams struct {
	SessionID string          `json:"sessionId"`
	Update    json.RawMessage `json:"update"`
}

// update is any session/update.
type update struct {
	Kind string `json:"sessionUpdate"`
	toolUpdate
	Entries []planEntry `json:"entries"`
	Mode    string      `json:"currentModeId"`
	Used    int64       `json:"used"`
	Size    int64       `json:"size"`
}

type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// content is a content block.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource"`
}

// toolUpdate is what a tool_call, a tool_call_update or a permission request says of a call. What it leaves out stays.
type toolUpdate struct {
	ID        string          `json:"toolCallId"`
	Title     *string         `json:"title"`
	Kind      *string         `json:"kind"`
	Status    *string         `json:"status"`
	Content   json.RawMessage `json:"content"`
	Locations []struct {
		Path string `json:"path"`
		Line *int   `json:"line"`
	} `json:"locations"`
	RawInput  json.RawMessage `json:"rawInput"`
	RawOutput json.RawMessage `json:"rawOutput"`
	Meta      struct {
		ClaudeCode struct {
			ToolName string `json:"toolName"`
		} `json:"claudeCode"`
	} `json:"_meta"`
}

// toolContent is one piece of a call's content.
type toolContent struct {
	Type       string  `json:"type"` // content, diff, terminal
	Content    content `json:"content"`
	Path       string  `json:"path"`
	OldText    *string `json:"oldText"`
	NewText    string  `json:"newText"`
	TerminalID string  `json:"terminalId"`
}

type permissionParams struct {
	SessionID string     `json:"sessionId"`
	ToolCall  toolUpdate `json:"toolCall"`
	Options   []struct {
		ID   string `json:"optionId"`
		Name string `json:"name"`
		Kind string `json:"kind"`
	} `json:"options"`
}

type prompted struct {
	StopReason string `json:"stopReason"`
	Usage      *struct {
		Input      int64 `json:"inputTokens"`
		Output     int64 `json:"outputTokens"`
		CacheRead  int64 `json:"cachedReadTokens"`
		CacheWrite int64 `json:"cachedWriteTokens"`
	} `json:"usage"`
}

// stdioServer and httpServer are how MCP servers are given to an agent.
type stdioServer struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []pair   `json:"env"`
}

type httpServer struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	URL     string `json:"url"`
	Headers []pair `json:"headers"`
}

type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}
