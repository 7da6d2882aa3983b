package sim

import "strings"

// model is one entry of the list: the slug that --model takes and the name that init shows.
type model struct{ slug, name string }

func models() []model {
	return []model{
		{"auto", "Auto"},
		{"composer-2", "Composer 2"},
		{"composer-2-fast", "Composer 2 Fast"},
		{"gpt-5", "GPT-5"},
		{"gpt-5-mini", "GPT-5 Mini"},
		{"gpt-5.3-codex", "GPT-5.3 Codex"},
		{"gpt-5.3-codex-high", "GPT-5.3 Codex High"},
		{"sonnet-4.6", "Claude 4.6 Sonnet"},
		{"sonnet-4.6-thinking", "Claude 4.6 Sonnet Thinking"},
		{"opus-4.6", "Claude 4.6 Opus"},
		{"gemini-3-pro", "Gemini 3 Pro"},
		{"grok-4.7", "Grok 4.7"},
		{"grok-4.7-medium", "Grok 4.7 256K Medium"},
		{"grok-4.7-xhigh", "Grok 4.7 256K Extra High"},
	}
}

func findModel(slug string) (model, bool) {
	for _, m := range models() {
		if m.slug == slug {
			return m, true
		}
	}
	return model{}, false
}

func badModel(slug string) error {
	var names []string
	for _, m := range models() {
		names = append(names, m.slug)
	}
	return refuse("Cannot use this model: %s. Available models: %s", slug, strings.Join(names, ", "))
}
