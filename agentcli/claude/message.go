package claude

import (
	"strings"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headless"
)

// streamed is the message that comes in pieces. Each of its parts is repeated whole by an assistant frame with the
// message's id, mostly before the part's own end; only what was not streamed is new in it.
type streamed struct {
	id string
	// from is how long the turn's text was before the message.
	from int
	// text and thinking are the pieces of the parts, in order; told counts those that were repeated.
	text, thinking         [][]byte
	textTold, thinkingTold int
}

// unconfirmed reports text that was streamed and never repeated whole: if the message is asked for again, it is void.
func (m *streamed) unconfirmed() bool { return m.textTold < len(m.text) && len(m.text[m.textTold]) > 0 }

// partial handles an event of the model's own stream.
func (d *Decoder) partial(f headless.Object) error {
	if f.Get("parent_tool_use_id") != nil {
		return nil // a subagent's: its whole messages follow
	}
	m, event := &d.message, f.Object("event")
	switch event.Word("type", "content_block_delta", "content_block_start", "content_block_stop", "message_start", "message_delta", "message_stop") {
	case "message_start":
		if m.unconfirmed() {
			if err := d.startOver("the model's answer broke off and is asked for again"); err != nil {
				return err
			}
		}
		*m = streamed{id: event.Object("message").Str("id"), from: d.Written()}
	case "content_block_start":
		switch event.Object("content_block").Word("type", "text", "thinking", "tool_use") {
		case "text":
			m.text = append(m.text, nil)
		case "thinking":
			m.thinking = append(m.thinking, nil)
		}
	case "content_block_delta":
		return d.delta(event.Object("delta"))
	case "content_block_stop":
		return d.EndSegments()
	}
	return nil
}

func (d *Decoder) delta(delta headless.Object) error {
	m := &d.message
	switch delta.Word("type", "text_delta", "thinking_delta", "input_json_delta", "signature_delta") {
	case "text_delta":
		text := delta.Str("text")
		if len(m.text) == 0 {
			m.text = append(m.text, nil)
		}
		last := len(m.text) - 1
		m.text[last] = append(m.text[last], text...)
		return d.Text(text)
	case "thinking_delta":
		text := delta.Str("thinking")
		if len(m.thinking) == 0 {
			m.thinking = append(m.thinking, nil)
		}
		last := len(m.thinking) - 1
		m.thinking[last] = append(m.thinking[last], text...)
		return d.Think(text)
	}
	return nil
}

// startOver voids what was streamed of a message that comes again.
func (d *Decoder) startOver(why string) error {
	from := d.message.from
	d.message = streamed{}
	return d.StartOver(from, why)
}

// assistant handles a whole message, or a part of one.
func (d *Decoder) assistant(f headless.Object) error {
	message := f.Object("message")
	if f.Get("parent_tool_use_id") != nil {
		return d.subagent(message)
	}
	if f.Bool("is_api_error_message") || f.Bool("isApiErrorMessage") {
		return d.Notice(headless.ContentText(message.Get("content")))
	}
	if model := message.Str("model"); model != "" && model != "<synthetic>" {
		d.Result.Model = model
	}
	m := &d.message
	if id := message.Str("id"); id != m.id || id == "" {
		*m = streamed{id: id, from: d.Written()}
	}
	if content := message.Get("content"); len(content) > 0 && content[0] == '"' {
		return d.whole(headless.Str(content), &m.text, &m.textTold, d.Text)
	}
	for _, p := range parts(message.Get("content")) {
		var err error
		switch p.Word("type", "text", "thinking", "tool_use") {
		case "text":
			err = d.whole(p.Str("text"), &m.text, &m.textTold, d.Text)
		case "thinking":
			err = d.whole(p.Str("thinking"), &m.thinking, &m.thinkingTold, d.Think)
		case "redacted_thinking":
		case "tool_use", "server_tool_use":
			err = d.Start(describe(p))
		default:
			err = d.Notice("a part of type " + p.Str("type"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// whole handles a part that is repeated whole: what was not streamed of it is new.
func (d *Decoder) whole(text string, pieces *[][]byte, told *int, add func(string) error) error {
	if *told < len(*pieces) {
		have := string((*pieces)[*told])
		if !strings.HasPrefix(text, have) {
			text = have // it is told differently now; what was told stands
		}
		text = text[len(have):]
	} else {
		*pieces = append(*pieces, []byte(text))
	}
	*told++
	if err := add(text); err != nil {
		return err
	}
	return d.EndSegments()
}

// subagent handles what an agent says that this one called: its tools are told like any other, its words are not the
// turn's.
func (d *Decoder) subagent(message headless.Object) error {
	for _, p := range parts(message.Get("content")) {
		var err error
		switch p.Word("type", "text", "thinking", "tool_use") {
		case "text":
			err = d.Send(agentcli.Event{Type: agentcli.EventNotice, Text: "a subagent: " + p.Str("text")})
		case "tool_use":
			err = d.Start(describe(p))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
