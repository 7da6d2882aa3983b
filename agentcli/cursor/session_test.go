package cursor

import (
	"context"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// TestOtherSession: a CLI that goes on in another conversation is noted, and its result names that conversation.
func TestOtherSession(t *testing.T) {
	stream := `{"type":"system","subtype":"init","session_id":"other","model":"m"}
{"type":"assistant","message":{"content":"hello"},"session_id":"other"}
{"type":"result","subtype":"success","result":"hello","session_id":"other"}
`
	for _, asked := range []string{"", "other", "mine"} {
		var notices []string
		result, err := New(Options{}).Converse(context.Background(), agentcli.NewReplay(strings.NewReader(stream)), agentcli.Request{Session: asked}, func(e agentcli.Event) error {
			if e.Type == agentcli.EventNotice {
				notices = append(notices, e.Text)
			}
			return nil
		})
		if err != nil || result.Outcome != substrat.Completed || result.Session != "other" || result.Text != "hello" {
			t.Errorf("asked for %q: %+v, %v", asked, result, err)
		}
		if noted := len(notices) == 1 && strings.Contains(notices[0], "instead of mine"); noted != (asked == "mine") {
			t.Errorf("asked for %q: notices %q", asked, notices)
		}
	}
}
