package tool

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The codes of JSON-RPC errors that are answered here. codeRefused, without an id, tells a relay that it will not be
// heard and need not try again.
const (
	codeParse   = -32700
	codeInvalid = -32600
	codeRefused = -32099
)

// decode reads a line. What is no message gives the error to answer with; what is no message and answers something
// gives neither, for two peers that complain to each other would never end.
func decode(line []byte) (msg jsonrpc.Message, complaint []byte) {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	if !json.Valid(line) {
		return nil, refusal(nil, codeParse, "not JSON")
	}
	if json.Unmarshal(line, &head) != nil {
		return nil, refusal(nil, codeInvalid, "not a JSON-RPC message")
	}
	msg, err := jsonrpc.DecodeMessage(line)
	switch {
	case err != nil && head.Method == nil:
		return nil, nil
	case err != nil:
		return nil, refusal(scalar(head.ID), codeInvalid, err.Error())
	}
	if req, ok := msg.(*jsonrpc.Request); ok && !echoes(req.ID, head.ID) {
		return nil, refusal(scalar(head.ID), codeInvalid, fmt.Sprintf("an id is a string or an integer, of at most %d bytes", idMost))
	}
	return msg, nil
}

// scalar gives an id that can be put into an error, nil if it cannot.
func scalar(id json.RawMessage) json.RawMessage {
	if len(id) == 0 || len(id) > idMost || id[0] == '{' || id[0] == '[' {
		return nil
	}
	return id
}

// echoes reports whether the SDK will answer under the id that the line has. It cuts off fractions and what does not
// fit a float.
func echoes(id jsonrpc.ID, raw json.RawMessage) bool {
	if len(raw) > idMost {
		return false
	}
	n, ok := id.Raw().(int64)
	return !ok || -idExact <= n && n <= idExact && fmt.Sprint(n) == string(raw)
}

// refusal is a JSON-RPC error as a line. Without an id it answers something that could not be read.
func refusal(id json.RawMessage, code int, message string) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	type fault struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	data, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   fault           `json:"error"`
	}{"2.0", id, fault{code, clip(message, complaintMost)}})
	if err != nil { // the id was valid JSON, the rest are strings and a number
		return []byte("\n")
	}
	return append(data, '\n')
}
