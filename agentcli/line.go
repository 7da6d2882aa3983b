package agentcli

import (
	"bytes"
	"encoding/json"
)

// Line is an event as the command line prints it, one JSON object on a line: the event's own members, and for the last
// one those of the result beside "type":"result", so that text and outcome stand where everybody looks for them.
func Line(e Event, raw bool) ([]byte, error) {
	if !raw {
		e.Raw = nil
	}
	if e.Type != EventResult || e.Result == nil {
		return marshal(e)
	}
	return marshal(ResultLine{Type: e.Type, Result: *e.Result, TimeMS: e.TimeMS, Offset: e.Offset, Raw: e.Raw})
}

// ResultLine is the last line of a run.
type ResultLine struct {
	Type EventType `json:"type"`
	Result
	TimeMS int64           `json:"time_ms,omitempty"`
	Offset int64           `json:"offset"`
	Raw    json.RawMessage `json:"raw,omitempty"`
}

// marshal writes JSON as people read it: without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
