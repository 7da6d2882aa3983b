package turnjson

import (
	"encoding/json"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/redact"
)

// frame takes one frame by its type.
func (c *conversation) frame(f frame) error {
	if err := c.resolveBefore(f); err != nil {
		return err
	}
	switch f.Type {
	case "assistant_delta":
		return c.delta(f)
	case "assistant":
		return c.assistant(f)
	case "thinking":
		return c.think(f)
	case "tool_call":
		return c.toolCall(f)
	case "usage":
		return c.usage(f)
	case "error":
		return c.failure(f)
	case "done":
		return c.done(f)
	case "result":
		return c.resultFrame(f)
	case "protocol":
		return c.protocol(f)
	case "system":
		return c.system(f)
	case "user":
		return c.emit(agentcli.Event{Type: agentcli.EventUser, Text: messageOr(f), Offset: f.end, Raw: f.raw})
	case "interaction_query":
		return c.note(f, "the agent asked something of its own surface")
	case "connection", "retry":
		if c.p.o.PromptAsArg {
			return c.emit(agentcli.Event{Type: agentcli.EventRetry, Text: strings.TrimSpace(f.Type + " " + str(f.Subtype)), Offset: f.end, Raw: f.raw})
		}
	}
	return c.malformed(f, "the event type "+quote(f.Type)+" is none of the contract")
}

func messageOr(f frame) string {
	s, _ := messageText(f.Message)
	return s
}

func (c *conversation) delta(f frame) error {
	content, ok := text(object(f.Data)["content"])
	if !ok {
		return c.malformed(f, "an assistant_delta has no content that is text")
	}
	return c.say(c.text.delta(content), f, false)
}

// assistant takes a whole message, or what the official CLI marks as a piece of one.
func (c *conversation) assistant(f frame) error {
	content, ok := messageText(f.Message)
	if !ok {
		return c.malformed(f, "an assistant message has no content that is text")
	}
	if content == "" {
		return nil
	}
	if _, piece := integer(f.Timestamp); piece && str(f.ModelCall) == "" {
		fresh, complete := c.text.loosely(content)
		return c.say(fresh, f, complete)
	}
	if c.text.held != "" && len(c.text.open) > 0 && content == c.text.open[len(c.text.open)-1] {
		c.text.held = "" // the message repeats its segment without the held piece: that was a repetition itself
	}
	if err := c.resolve(true); err != nil {
		return err
	}
	return c.say(c.text.message(content), f, true)
}

// say tells of new text; complete says that its segment ends with it.
func (c *conversation) say(fresh string, f frame, complete bool) error {
	if err := c.endThinking(f.end); err != nil {
		return err
	}
	shown := fresh
	if c.p.o.TextCalls {
		shown = c.hidden.take(fresh, false)
	}
	if shown != "" {
		c.visible.WriteString(shown)
		if err := c.emit(agentcli.Event{Type: agentcli.EventText, Text: shown, Offset: f.end, Raw: f.raw}); err != nil {
			return err
		}
	}
	if complete {
		return c.emit(agentcli.Event{Type: agentcli.EventTextEnd, Offset: f.end})
	}
	return nil
}

// resolveBefore decides what a held piece was by the frame that comes after it.
func (c *conversation) resolveBefore(f frame) error {
	if c.text.held == "" || f.Type == "assistant" && c.text.held != "" && str(f.ModelCall) != "" || f.Type == "assistant" && len(f.Timestamp) == 0 {
		return nil
	}
	switch f.Type {
	case "interaction_query", "retry", "connection":
		return c.resolve(false)
	case "result":
		if s, ok := text(f.Result); ok && s == c.text.all.String() {
			return c.resolve(false)
		}
	}
	return c.resolve(true)
}

// resolve takes a held piece as text, or forgets it as a repetition.
func (c *conversation) resolve(isText bool) error {
	held := c.text.held
	c.text.held = ""
	if held == "" || !isText {
		return nil
	}
	return c.say(c.text.delta(held), frame{end: c.end}, false)
}

// think forwards thinking, wherever a CLI puts it.
func (c *conversation) think(f frame) error {
	thought, ok := text(f.Text)
	if !ok {
		thought, ok = text(object(f.Data)["content"])
	}
	if !ok {
		thought, ok = messageText(f.Message)
	}
	completed := str(f.Subtype) == "completed"
	if completed {
		return c.endThinking(f.end)
	}
	if !ok || thought == "" {
		return c.note(f, "thinking without text")
	}
	c.thinking = true
	return c.emit(agentcli.Event{Type: agentcli.EventThinking, Text: thought, Offset: f.end, Raw: f.raw})
}

func (c *conversation) endThinking(end int64) error {
	if !c.thinking {
		return nil
	}
	c.thinking = false
	return c.emit(agentcli.Event{Type: agentcli.EventThinkEnd, Offset: end})
}

// usage is what the turn has used so far: a later one stands for those before it.
func (c *conversation) usage(f frame) error {
	data := object(f.Data)
	in, okIn := integer(data["promptTokens"])
	out, okOut := integer(data["completionTokens"])
	if data == nil || !okIn && data["promptTokens"] != nil || !okOut && data["completionTokens"] != nil || !okIn && !okOut {
		return c.malformed(f, "usage has no counts of tokens")
	}
	return c.used(&substrat.Usage{InputTokens: in, OutputTokens: out}, f)
}

func (c *conversation) used(u *substrat.Usage, f frame) error {
	c.result.Usage = u
	return c.emit(agentcli.Event{Type: agentcli.EventUsage, Usage: u, Offset: f.end, Raw: f.raw})
}

// protocol is the handshake. A CLI that sends none is one of the first version.
func (c *conversation) protocol(f frame) error {
	raw := object(f.Data)["version"]
	if len(raw) == 0 {
		raw = f.Version
	}
	if len(raw) == 0 || string(raw) == "null" {
		return c.note(f, "a protocol without a version")
	}
	version, ok := text(raw)
	if !ok {
		return c.fail(substrat.ClassProtocol, "malformed output: the version of the protocol is no text")
	}
	if !slices.Contains(c.p.o.Versions, version) {
		return c.fail(substrat.ClassProtocol, "the agent speaks version "+quote(version)+" of the protocol; spoken here: "+strings.Join(c.p.o.Versions, ", "))
	}
	return c.note(f, "protocol "+version)
}

// system names the session, where the CLI has one.
func (c *conversation) system(f frame) error {
	session := str(f.Session)
	if session == "" {
		return c.note(f, "a note of the agent's system")
	}
	c.result.Session, c.result.Model = session, str(f.Model)
	return c.emit(agentcli.Event{Type: agentcli.EventSession, Session: session, Model: c.result.Model, Offset: f.end, Raw: f.raw})
}

// failure is an error that the CLI reports. It ends the turn: what would come after it has no meaning in the contract.
func (c *conversation) failure(f frame) error {
	data := object(f.Data)
	code, message := str(data["code"]), str(data["message"])
	if code == "" && message == "" {
		return c.malformed(f, "an error has neither code nor message")
	}
	c.result.RetryAfterMS = retryAfter(data, message)
	detail := strings.TrimSpace(code + ": " + message)
	return c.fail(classify(code, message, substrat.ClassAgent), strings.Trim(detail, ": "))
}

// done ends the turn by the contract.
func (c *conversation) done(f frame) error {
	data := object(f.Data)
	reason, ok := text(data["finishReason"])
	if len(f.Data) > 0 && data == nil && string(f.Data) != "null" || !ok && len(data["finishReason"]) > 0 && string(data["finishReason"]) != "null" {
		return c.malformed(f, "done has a finishReason that is no text")
	}
	switch strings.ToLower(reason) {
	case "error", "failed":
		return c.fail(substrat.ClassAgent, "the agent ended the turn with the reason "+quote(reason))
	case "cancelled", "canceled", "aborted":
		return c.fail(substrat.ClassCancelled, "the agent ended the turn because it was cancelled")
	}
	return c.complete()
}

// resultFrame is the official CLI's end of a turn. What it says about success counts.
func (c *conversation) resultFrame(f frame) error {
	if s := str(f.Session); s != "" {
		c.result.Session = s
	}
	c.result.DurationMS, _ = integer(f.Duration)
	if u := object(f.Usage); u != nil {
		if err := c.used(usageOf(u), f); err != nil {
			return err
		}
	}
	said, hasText := text(f.Result)
	if string(f.IsError) == "true" || str(f.Subtype) != "" && str(f.Subtype) != "success" {
		if said == "" {
			said = "the agent reports an error and does not say which (" + str(f.Subtype) + ")"
		}
		c.result.RetryAfterMS = retryAfter(nil, said)
		return c.fail(classify("", said, substrat.ClassAgent), clip(said, 2000))
	}
	if hasText && said != "" {
		if err := c.checkText(said, f); err != nil {
			return err
		}
	}
	return c.complete()
}

// checkText compares the turn's text with the one that the CLI gives at the end. What it says beyond is new; where the two
// differ, both are kept.
func (c *conversation) checkText(said string, f frame) error {
	all := c.text.all.String()
	switch {
	case said == all, strings.HasSuffix(all, said):
		return nil
	case strings.HasPrefix(said, all):
		return c.say(c.text.delta(said[len(all):]), f, false)
	}
	return c.note(frame{end: f.end}, "the agent's own account of its text differs: "+clip(redact.String(said), 2000))
}

func usageOf(u map[string]json.RawMessage) *substrat.Usage {
	first := func(keys ...string) int64 {
		for _, k := range keys {
			if n, ok := integer(u[k]); ok {
				return n
			}
		}
		return 0
	}
	return &substrat.Usage{
		InputTokens: first("promptTokens", "inputTokens", "input_tokens"), OutputTokens: first("completionTokens", "outputTokens", "output_tokens"),
		CacheReadTokens: first("cacheReadTokens", "cache_read_input_tokens"), CacheWriteTokens: first("cacheWriteTokens", "cache_creation_input_tokens"),
	}
}

// complete ends a turn that went well.
func (c *conversation) complete() error {
	c.gone = true // it does not listen any more
	if err := c.settle(); err != nil || c.result.Terminal {
		return err
	}
	c.result.Terminal, c.result.Outcome = true, substrat.Completed
	return c.close()
}
