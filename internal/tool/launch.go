package tool

import (
	"context"
	"encoding/json"

	"substrat.dev/substrat"
)

// serves gives the server that an admitted preamble asks for, "" for none.
func serves(line []byte) string {
	var p preamble
	if json.Unmarshal(line, &p) != nil || p.Substrat == nil {
		return ""
	}
	return p.Substrat.Serve
}

// launch tells the peer how the server that it asked for is started: one line, {"launch":{…}} or {"error":{…}}.
func (w *wire) launch(ctx context.Context, caller Caller) error {
	err := error(substrat.Errorf(substrat.CodeNotFound, "this agent has no MCP server %.80q", w.serves))
	var l Launch
	if caller.Launch != nil {
		l, err = caller.Launch(ctx, w.serves)
	}
	answer := map[string]any{"launch": l}
	if err != nil {
		answer = map[string]any{"error": problem(err)}
	}
	line, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return w.write(append(line, '\n'))
}
