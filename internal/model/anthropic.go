package model

// Anthropic's Messages, as its API reference has them.
var anthropicAPI = api{"anthropic", readAnthropic, replyAnthropic}

func readAnthropic(body map[string]any) (t talk) {
	for _, m := range list(body["messages"]) {
		role, content := text(fields(m)["role"]), fields(m)["content"]
		blocks := list(content)
		if s, ok := content.(string); ok {
			blocks = []any{map[string]any{"type": "text", "text": s}}
		}
		for _, b := range blocks {
			x := turn{kind: byModel, text: flat(b)}
			switch kind := text(fields(b)["type"]); {
			case kind == "tool_result":
				x.kind = toolResult
			case role == "user":
				x.kind = byUser
			case kind == "tool_use":
				x.call = text(fields(b)["name"])
			}
			t.turns = append(t.turns, x)
		}
	}
	for _, o := range list(body["tools"]) {
		t.tools = append(t.tools, offered{name: text(fields(o)["name"]), schema: fields(fields(o)["input_schema"])})
	}
	return t
}

func replyAnthropic(w *writer, _ map[string]any, c choice) {
	block, stop := map[string]any{"type": "text", "text": c.text}, "end_turn"
	if c.call != nil {
		block, stop = map[string]any{"type": "tool_use", "id": id("toolu"), "name": c.call.name, "input": c.args}, "tool_use"
	}
	message := map[string]any{
		"id": id("msg"), "type": "message", "role": "assistant", "model": w.model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": tokensIn, "output_tokens": 1},
	}
	if !w.stream {
		message["content"], message["stop_reason"] = []any{block}, stop
		message["usage"] = map[string]any{"input_tokens": tokensIn, "output_tokens": tokensOut}
		w.whole(message)
		return
	}
	w.event("message_start", map[string]any{"type": "message_start", "message": message})
	begin := map[string]any{"type": "text", "text": ""}
	if c.call != nil {
		begin = map[string]any{"type": "tool_use", "id": block["id"], "name": c.call.name, "input": map[string]any{}}
	}
	w.event("content_block_start", map[string]any{"type": "content_block_start", "index": 0, "content_block": begin})
	delta := func(d map[string]any) {
		w.event("content_block_delta", map[string]any{"type": "content_block_delta", "index": 0, "delta": d})
	}
	if c.call != nil {
		delta(map[string]any{"type": "input_json_delta", "partial_json": encoded(c.args)})
	} else {
		for _, s := range pieces(c.text) {
			delta(map[string]any{"type": "text_delta", "text": s})
		}
	}
	w.event("content_block_stop", map[string]any{"type": "content_block_stop", "index": 0})
	w.event("message_delta", map[string]any{
		"type": "message_delta", "delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": tokensOut},
	})
	w.event("message_stop", map[string]any{"type": "message_stop"})
}
