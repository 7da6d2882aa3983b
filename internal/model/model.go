// Package model is a language model that follows a script, for running real agent programs without the internet. It
// speaks the wire formats of Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's generateContent,
// streamed and whole.
//
// The script rides in the prompt, <<SCRIPT [ … ] SCRIPT>>, so the server keeps nothing between requests: which step is next
// follows from how many tool results the conversation holds since. It never starts a process or opens a connection.
package model

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Handler serves the model. Log is told of each answer; it may be nil.
func Handler(log func(api, what string)) http.Handler {
	if log == nil {
		log = func(string, string) {}
	}
	return &server{log}
}

type server struct{ log func(api, what string) }

// bodyMost bounds a request: agents send their whole conversation with each.
const bodyMost = 64 << 20

// api is one wire format: how its requests are read, and how a choice is told in it.
type api struct {
	name  string
	read  func(body map[string]any) talk
	reply func(w *writer, body map[string]any, c choice)
}

var geminiPath = regexp.MustCompile(`/models/([^/:]+):(\w+)`)

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(io.LimitReader(r.Body, bodyMost))
	if err != nil {
		http.Error(w, "cannot read the request", http.StatusBadRequest)
		return
	}
	var body map[string]any
	_ = json.Unmarshal(data, &body)
	path := r.URL.Path
	gemini := geminiPath.FindStringSubmatch(path)
	switch {
	case strings.Contains(strings.ToLower(path), "count_tokens") || gemini != nil && gemini[2] == "countTokens":
		object(w, http.StatusOK, map[string]any{"input_tokens": 10, "totalTokens": 10})
	case r.Method == http.MethodPost && gemini != nil:
		s.answer(r.Context(), w, body, geminiAPI, gemini[1], strings.HasPrefix(gemini[2], "stream"))
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/messages"):
		s.answer(r.Context(), w, body, anthropicAPI, text(body["model"]), body["stream"] == true)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/chat/completions"):
		s.answer(r.Context(), w, body, chatAPI, text(body["model"]), body["stream"] == true)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/responses"):
		s.answer(r.Context(), w, body, responsesAPI, text(body["model"]), body["stream"] == true)
	case strings.HasSuffix(path, "/models"):
		one := map[string]any{"id": "scripted-1", "type": "model", "object": "model", "display_name": "Scripted", "created": 1, "created_at": "2026-01-01T00:00:00Z", "owned_by": "local"}
		object(w, http.StatusOK, map[string]any{"object": "list", "data": []any{one}, "has_more": false, "models": []any{}})
	default:
		s.log("other", r.Method+" "+path)
		object(w, http.StatusOK, map[string]any{})
	}
}

// answer does what the script says next.
func (s *server) answer(ctx context.Context, w http.ResponseWriter, body map[string]any, a api, model string, stream bool) {
	c := a.read(body).choose()
	s.log(a.name, c.String())
	if c.delay > 0 {
		select {
		case <-time.After(c.delay):
		case <-ctx.Done():
			return
		}
	}
	if c.status != 0 {
		object(w, c.status, map[string]any{"type": "error", "error": map[string]any{"type": "api_error", "message": "scripted failure", "code": c.status, "status": "UNAVAILABLE"}})
		return
	}
	out := &writer{w: w, model: model, stream: stream, cut: c.cut}
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	a.reply(out, body, c)
}

func object(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
