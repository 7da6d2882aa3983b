package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// message is any JSON-RPC message: a request (method and id), a notification (method), or a response (id).
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// rpcError is the error of a response. Codes are JSON-RPC's, the protocol's, or, with some agents, those of HTTP.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// The error codes.
const (
	codeInvalidParams  = -32602
	codeMethodNotFound = -32601
	codeInternal       = -32603
	codeAuthRequired   = -32000
	codeNotFound       = -32002
)

// parse reads one line. It answers false for what is no message.
func parse(line []byte) (message, bool) {
	var m message
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &m) != nil {
		return m, false
	}
	if bytes.Equal(m.ID, []byte("null")) {
		m.ID = nil
	}
	return m, m.Method != "" || m.ID != nil
}

// isRequest tells a request from a notification and a response.
func (m message) isRequest() bool { return m.Method != "" && m.ID != nil }

// encode makes a line. What is encoded came as JSON or is made of strings and numbers.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot encode a message for the agent: %v", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// request makes the line of a request of ours.
func request(id, method string, params any) ([]byte, error) {
	return encode(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", id, method, params})
}

func notification(method string, params any) ([]byte, error) {
	return encode(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
}

// response answers a request of the agent's: with result, or with e.
func response(id json.RawMessage, result any, e *rpcError) ([]byte, error) {
	if e != nil {
		return encode(struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   *rpcError       `json:"error"`
		}{"2.0", id, e})
	}
	return encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
}

// ourPrefix begins the ids of our requests. Agents number theirs, or name them otherwise; so a transcript of both sides
// tells whose a response is.
const ourPrefix = "substrat:"

// ours gives the id of a request of ours that a response is for.
func ours(id json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(id, &text) != nil || !strings.HasPrefix(text, ourPrefix) {
		return "", false
	}
	return text, true
}

// failureOf classes an error response: by the protocol's codes, by HTTP's, which some agents use, else by its words.
func failureOf(what string, e *rpcError) *agentcli.Failure {
	words := e.Message
	var data struct {
		Message string          `json:"message"`
		Details string          `json:"details"`
		Error   json.RawMessage `json:"error"`
		Code    int             `json:"code"`
		Status  int             `json:"status"`
	}
	var text string
	switch {
	case json.Unmarshal(e.Data, &text) == nil:
		words += ": " + text
	case json.Unmarshal(e.Data, &data) == nil && (data.Message != "" || data.Details != ""):
		words += ": " + strings.TrimSpace(data.Message+" "+data.Details)
	}
	code := e.Code
	if code < 400 && data.Status >= 400 {
		code = data.Status
	}
	return &agentcli.Failure{Class: classOf(code, words), Detail: fmt.Sprintf("%s: %s", what, clip(words))}
}

// wordsOf are how agents say what they say with their error messages, in order.
var wordsOf = []struct {
	class substrat.FailureClass
	words []string
}{
	{substrat.ClassQuota, []string{"quota", "usage limit", "insufficient credit", "billing", "out of credits"}},
	{substrat.ClassRateLimit, []string{"rate limit", "rate_limit", "too many requests", "overloaded", "resource_exhausted", "resource exhausted"}},
	{substrat.ClassAuth, []string{"auth", "log in", "login", "api key", "api_key", "unauthorized", "permission_denied"}},
	{substrat.ClassModel, []string{"unknown model", "model not found", "invalid model", "not_found_error", "model is not"}},
	{substrat.ClassNetwork, []string{"econn", "enotfound", "etimedout", "network", "stream disconnected", "error sending request", "fetch failed", "socket hang up", "dns"}},
}

func classOf(code int, words string) substrat.FailureClass {
	switch code {
	case codeAuthRequired, 401, 403:
		return substrat.ClassAuth
	case 402:
		return substrat.ClassQuota
	case 429, 529:
		return substrat.ClassRateLimit
	case codeNotFound:
		return substrat.ClassSession
	}
	low := strings.ToLower(words)
	for _, c := range wordsOf {
		for _, w := range c.words {
			if strings.Contains(low, w) {
				return c.class
			}
		}
	}
	if code >= 500 {
		return substrat.ClassNetwork
	}
	return substrat.ClassAgent
}

// clipMost bounds a text of the agent's in an error or a notice.
const clipMost = 4 << 10

func clip(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "\ufffd")
	if len(s) > clipMost {
		s = strings.ToValidUTF8(s[:clipMost], "") + "…"
	}
	return s
}
