package acp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// deafConn takes nothing any more. What it still says is in frames; then it ends, or stays silent.
type deafConn struct {
	agentcli.Conn
	frames []string
	stays  bool
}

func (c *deafConn) WriteFrame(context.Context, []byte) error {
	return substrat.Errorf(substrat.CodeConflict, "it no longer reads")
}

func (c *deafConn) ReadFrame(ctx context.Context) (agentcli.Frame, error) {
	if len(c.frames) > 0 {
		data := []byte(c.frames[0])
		c.frames = c.frames[1:]
		return agentcli.Frame{Data: data}, nil
	}
	if c.stays {
		<-ctx.Done()
		return agentcli.Frame{}, ctx.Err()
	}
	return agentcli.Frame{}, agentcli.EOF
}

// TestDeafAgent: an agent that no longer reads may have ended, which says more than the broken pipe; one that lives on is given up.
func TestDeafAgent(t *testing.T) {
	call := func(c *deafConn) error {
		_, err := (&link{conn: c}).call(t.Context(), "x", "session/list", nil, nil)
		return err
	}
	if err := call(&deafConn{frames: []string{"noise"}}); !errors.Is(err, agentcli.EOF) {
		t.Errorf("after its end: %v", err)
	}
	if err := call(&deafConn{frames: []string{`{"jsonrpc":"2.0","id":"` + ourPrefix + `x","result":{}}`}}); err != nil {
		t.Errorf("after an answer: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := (&link{conn: &deafConn{stays: true}}).call(t.Context(), "x", "session/list", nil, nil)
		if substrat.CodeOf(err) != substrat.CodeConflict {
			t.Errorf("while it stays: %v", err)
		}
	})
}
