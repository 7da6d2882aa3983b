package sim

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	queryOpen  = "<user_query>\n"
	queryClose = "\n</user_query>"
)

// message is a message blob. Its content is a string, or parts.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// queries gives what the user asked in this chat so far, oldest first. A blob that cannot be read is passed over.
func (s *store) queries(ctx context.Context) (list []string) {
	for _, id := range s.messages {
		if ctx.Err() != nil {
			return list
		}
		data, err := s.blob(hex.EncodeToString(id[:]))
		if err != nil {
			continue
		}
		if text, ok := userQuery(data); ok {
			list = append(list, text)
		}
	}
	return list
}

func userQuery(data []byte) (string, bool) {
	var msg message
	if json.Unmarshal(data, &msg) != nil || msg.Role != "user" {
		return "", false
	}
	var parts []struct{ Text string }
	if json.Unmarshal(msg.Content, &parts) != nil {
		return "", false
	}
	for _, part := range parts {
		if _, rest, ok := strings.Cut(part.Text, queryOpen); ok {
			return strings.TrimSuffix(rest, queryClose), true
		}
	}
	return "", false
}

// openingMessages are those of a chat's beginning: who the agent is and where it works.
func openingMessages(space workspace) [][]byte {
	info := "<user_info>\nOS Version: linux\nWorkspace Path: " + string(space) + "\n</user_info>"
	return [][]byte{
		appendJSON(nil, object{{"role", "system"}, {"content", "You are a simulated coding agent. You follow scripts."}}),
		appendJSON(nil, object{{"role", "user"}, {"content", info}}),
	}
}

func userMessage(prompt string, now time.Time) []byte {
	text := "<timestamp>" + now.Format("Monday, Jan 2, 2006, 3:04 PM (UTC-07)") + "</timestamp>\n" + queryOpen + prompt + queryClose
	return appendJSON(nil, object{{"role", "user"}, {"content", []object{{{"type", "text"}, {"text", text}}}}})
}

// draft gathers what a turn adds to the chat. One assistant message holds the parts of one model call, and the results
// of its tools follow it as messages of their own.
type draft struct {
	list  [][]byte
	parts []object
}

func (d *draft) part(fields ...field) { d.parts = append(d.parts, fields) }

func (d *draft) text(text string) { d.part(field{"type", "text"}, field{"text", text}) }

func (d *draft) reasoning(text string) { d.part(field{"type", "reasoning"}, field{"text", text}) }

func (d *draft) tool(id, name string, args jsontext.Value, result string) {
	d.part(field{"type", "tool-call"}, field{"toolCallId", id}, field{"toolName", name}, field{"args", args})
	d.seal()
	part := object{{"type", "tool-result"}, {"toolName", name}, {"toolCallId", id}, {"result", result}}
	d.list = append(d.list, appendJSON(nil, object{{"role", "tool"}, {"id", id}, {"content", []object{part}}}))
}

// seal ends the assistant message under way.
func (d *draft) seal() {
	if len(d.parts) == 0 {
		return
	}
	d.list = append(d.list, appendJSON(nil, object{{"role", "assistant"}, {"content", d.parts}}))
	d.parts = nil
}
