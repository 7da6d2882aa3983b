package tool

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"substrat.dev/substrat"
)

// answer makes a tool's result: structured, and the same as text for clients that read only that. A refusal is
// {"error":{"code","message","hint"}} with isError.
func answer(result any, err error) *mcp.CallToolResult {
	if err != nil {
		result = map[string]*substrat.Error{"error": problem(err)}
	}
	data, encodeErr := json.Marshal(result)
	if encodeErr != nil {
		data = []byte(`{"error":{"code":"internal","message":"the answer could not be encoded"}}`)
		err = encodeErr
	}
	data = plain(data)
	return &mcp.CallToolResult{IsError: err != nil, Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}, StructuredContent: json.RawMessage(data)}
}

// problem gives an error the form that agents read.
func problem(err error) *substrat.Error {
	var e *substrat.Error
	if errors.As(err, &e) {
		return e
	}
	return &substrat.Error{Code: substrat.CodeInternal, Message: err.Error()}
}

// plain undoes the escapes that json.Marshal puts in for browsers: a model reads "a < b", not "a \u003c b". The bytes
// stay JSON of the same value.
func plain(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\u00`)) {
		return data
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			out = append(out, data[i])
			continue
		}
		if i+6 <= len(data) {
			if c, ok := map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}[string(data[i:i+6])]; ok {
				out = append(out, c)
				i += 5
				continue
			}
		}
		// An escape of two bytes or the head of a longer one; its second byte begins nothing.
		out = append(out, data[i], data[i+1])
		i++
	}
	return out
}
