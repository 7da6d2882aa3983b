package model

import "strings"

// OpenAI's Chat Completions and Responses, as its API reference has them.
var (
	chatAPI      = api{"chat", readChat, replyChat}
	responsesAPI = api{"responses", readResponses, replyResponses}
)

func readChat(body map[string]any) (t talk) {
	for _, m := range list(body["messages"]) {
		f := fields(m)
		x := turn{kind: byModel, text: flat(f["content"])}
		switch text(f["role"]) {
		case "tool":
			x.kind = toolResult
		case "user":
			x.kind = byUser
		}
		if calls := list(f["tool_calls"]); len(calls) > 0 {
			x.call = text(fields(fields(calls[0])["function"])["name"])
		}
		t.turns = append(t.turns, x)
	}
	for _, o := range list(body["tools"]) {
		fn := fields(fields(o)["function"])
		t.tools = append(t.tools, offered{name: text(fn["name"]), schema: fields(fn["parameters"])})
	}
	return t
}

func replyChat(w *writer, _ map[string]any, c choice) {
	usage := map[string]any{"prompt_tokens": tokensIn, "completion_tokens": tokensOut, "total_tokens": tokensIn + tokensOut}
	base := func(kind string, choice map[string]any) map[string]any {
		return map[string]any{"id": "chatcmpl_1", "created": 1, "model": w.model, "object": kind, "choices": []any{choice}}
	}
	message, finish := map[string]any{"role": "assistant", "content": c.text}, "stop"
	var calls []any
	if c.call != nil {
		calls = []any{map[string]any{"index": 0, "id": id("call"), "type": "function", "function": map[string]any{"name": c.call.name, "arguments": encoded(c.args)}}}
		message, finish = map[string]any{"role": "assistant", "content": nil, "tool_calls": calls}, "tool_calls"
	}
	if !w.stream {
		out := base("chat.completion", map[string]any{"index": 0, "finish_reason": finish, "message": message})
		out["usage"] = usage
		w.whole(out)
		return
	}
	chunk := func(delta map[string]any, finish any) {
		w.event("", base("chat.completion.chunk", map[string]any{"index": 0, "delta": delta, "finish_reason": finish}))
	}
	chunk(map[string]any{"role": "assistant", "content": ""}, nil)
	if c.call != nil {
		chunk(map[string]any{"tool_calls": calls}, nil)
	} else {
		for _, s := range pieces(c.text) {
			chunk(map[string]any{"content": s}, nil)
		}
	}
	chunk(map[string]any{}, finish)
	w.event("", map[string]any{"id": "chatcmpl_1", "created": 1, "model": w.model, "object": "chat.completion.chunk", "choices": []any{}, "usage": usage})
	w.event("", "[DONE]")
}

func readResponses(body map[string]any) (t talk) {
	input := list(body["input"])
	if s, ok := body["input"].(string); ok {
		input = []any{map[string]any{"role": "user", "content": s}}
	}
	for _, m := range input {
		f := fields(m)
		kind := text(f["type"])
		x := turn{kind: byModel, text: flat(f["content"])}
		switch {
		case strings.HasSuffix(kind, "_output"):
			x.kind, x.text = toolResult, flat(f["output"])
		case text(f["role"]) == "user":
			x.kind = byUser
		case strings.HasSuffix(kind, "_call"):
			x.call = text(f["name"])
		}
		t.turns = append(t.turns, x)
		// Newer models are offered their tools within the conversation.
		t.addTools(f["tools"], "")
	}
	t.addTools(body["tools"], "")
	return t
}

// addTools adds tools, those in namespaces too.
func (t *talk) addTools(v any, space string) {
	for _, o := range list(v) {
		f := fields(o)
		kind, name := text(f["type"]), text(f["name"])
		if kind == "namespace" {
			t.addTools(f["tools"], name)
			continue
		}
		if name == "" {
			name = kind
		}
		t.tools = append(t.tools, offered{name: name, space: space, kind: kind, schema: fields(f["parameters"])})
	}
}

func replyResponses(w *writer, _ map[string]any, c choice) {
	item := map[string]any{
		"type": "message", "id": id("msg"), "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": c.text, "annotations": []any{}}},
	}
	custom := c.call != nil && c.call.kind == "custom"
	switch {
	case custom:
		item = map[string]any{"type": "custom_tool_call", "id": id("ctc"), "call_id": id("call"), "name": c.call.name, "input": encoded(c.args), "status": "completed"}
	case c.call != nil:
		item = map[string]any{"type": "function_call", "id": id("fc"), "call_id": id("call"), "name": c.call.name, "arguments": encoded(c.args), "status": "completed"}
		if c.call.space != "" {
			item["namespace"] = c.call.space
		}
	}
	response := func(status string, output []any) map[string]any {
		return map[string]any{"id": "resp_1", "object": "response", "created_at": 1, "model": w.model, "status": status, "output": output, "usage": map[string]any{
			"input_tokens": tokensIn, "input_tokens_details": map[string]any{"cached_tokens": 0},
			"output_tokens": tokensOut, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": tokensIn + tokensOut,
		}}
	}
	if !w.stream {
		w.whole(response("completed", []any{item}))
		return
	}
	n := 0
	event := func(kind string, v map[string]any) {
		v["type"], v["sequence_number"] = kind, n
		n++
		w.event(kind, v)
	}
	event("response.created", map[string]any{"response": response("in_progress", []any{})})
	begun := map[string]any{}
	for k, v := range item {
		begun[k] = v
	}
	begun["status"] = "in_progress"
	for k, v := range map[string]any{"arguments": "", "input": "", "content": []any{}} {
		if _, has := begun[k]; has {
			begun[k] = v
		}
	}
	event("response.output_item.added", map[string]any{"output_index": 0, "item": begun})
	if c.call == nil {
		at := map[string]any{"item_id": item["id"], "output_index": 0, "content_index": 0}
		with := func(name string, v any) map[string]any {
			out := map[string]any{name: v}
			for k, x := range at {
				out[k] = x
			}
			return out
		}
		event("response.content_part.added", with("part", map[string]any{"type": "output_text", "text": "", "annotations": []any{}}))
		for _, s := range pieces(c.text) {
			event("response.output_text.delta", with("delta", s))
		}
		event("response.output_text.done", with("text", c.text))
	} else if !custom {
		event("response.function_call_arguments.delta", map[string]any{"item_id": item["id"], "output_index": 0, "delta": item["arguments"]})
		event("response.function_call_arguments.done", map[string]any{"item_id": item["id"], "output_index": 0, "arguments": item["arguments"]})
	}
	event("response.output_item.done", map[string]any{"output_index": 0, "item": item})
	event("response.completed", map[string]any{"response": response("completed", []any{item})})
}
