package tool

import (
	"context"
	"encoding/json"

	"substrat.dev/substrat"
)

// Call does one call of a tool, for a caller whose calls do not come over MCP. The key is that of [team.Meta]: a call
// that is repeated under it is answered and not done again. Errors are what the caller is to read; where ctx has ended,
// nothing is known.
func Call(ctx context.Context, host Host, caller Caller, key, name string, args json.RawMessage) (json.RawMessage, error) {
	t := Find(name)
	if t == nil {
		return nil, unknown(name)
	}
	result, err := t.invoke(ctx, &call{host: host, caller: caller, key: key}, args)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(result)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInternal, "the answer could not be encoded: %v", err)
	}
	return plain(data), nil
}

// Find gives the tool of a name, nil if there is none.
func Find(name string) *Tool {
	for i := range All {
		if All[i].Name == name {
			return &All[i]
		}
	}
	return nil
}

func unknown(name string) error {
	return substrat.Errorf(substrat.CodeNotFound, "no tool is called %.80q", name).WithHint("there are %s", Names())
}

// invoke asks the host whether the call may be made, and makes it.
func (t *Tool) invoke(ctx context.Context, c *call, args json.RawMessage) (any, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if c.caller.Hide != nil {
		args = c.caller.Hide(args)
	}
	grant, err := c.host.Admit(ctx, c.caller, c.key, t.Name, args)
	if err != nil {
		return nil, err
	}
	c.grant = grant
	return t.compiled().call(ctx, c, args)
}
