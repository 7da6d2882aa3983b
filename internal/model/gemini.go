package model

// Gemini's generateContent and streamGenerateContent, as its API reference has them.
var geminiAPI = api{"gemini", readGemini, replyGemini}

func readGemini(body map[string]any) (t talk) {
	for _, m := range list(body["contents"]) {
		role := text(fields(m)["role"])
		for _, p := range list(fields(m)["parts"]) {
			f := fields(p)
			x := turn{kind: byModel, text: text(f["text"])}
			switch {
			case f["functionResponse"] != nil:
				x.kind = toolResult
			case role == "user":
				x.kind = byUser
			case f["functionCall"] != nil:
				x.call = text(fields(f["functionCall"])["name"])
			}
			t.turns = append(t.turns, x)
		}
	}
	for _, o := range list(body["tools"]) {
		for _, d := range list(fields(o)["functionDeclarations"]) {
			f := fields(d)
			schema := fields(f["parametersJsonSchema"])
			if schema == nil {
				schema = fields(f["parameters"])
			}
			t.tools = append(t.tools, offered{name: text(f["name"]), schema: schema})
		}
	}
	return t
}

// asked is what the program asks on its own account and wants as JSON: which model to take, who speaks next.
var asked = encoded(map[string]any{"reasoning": "scripted", "model_choice": "flash", "complexity_reasoning": "scripted", "complexity_score": 1, "next_speaker": "user"})

func replyGemini(w *writer, body map[string]any, c choice) {
	answer := c.text
	if fields(body["generationConfig"])["responseMimeType"] == "application/json" {
		answer = asked
	}
	response := func(parts []any, end bool) map[string]any {
		one := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
		if end {
			one["finishReason"] = "STOP"
		}
		return map[string]any{
			"candidates": []any{one}, "modelVersion": w.model, "responseId": id("r"),
			"usageMetadata": map[string]any{"promptTokenCount": tokensIn, "candidatesTokenCount": tokensOut, "totalTokenCount": tokensIn + tokensOut},
		}
	}
	var call map[string]any
	if c.call != nil {
		call = map[string]any{"functionCall": map[string]any{"name": c.call.name, "args": c.args, "id": id("fc")}, "thoughtSignature": "c2NyaXB0ZWQ="}
	}
	switch {
	case !w.stream && call != nil:
		w.whole(response([]any{call}, true))
	case !w.stream:
		w.whole(response([]any{map[string]any{"text": answer}}, true))
	case call != nil:
		w.event("", response([]any{call}, true))
	default:
		parts := pieces(answer)
		for i, s := range parts {
			w.event("", response([]any{map[string]any{"text": s}}, i == len(parts)-1))
		}
	}
}
