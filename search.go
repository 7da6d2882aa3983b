package substrat

import "time"

// Hit is one place where a search found its words.
type Hit struct {
	// Kind is message or turn; ID is that of the one or the other.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Team string `json:"team"`
	// Agent is the path of the agent whose turn it is; From and To are those of a message.
	Agent string    `json:"agent,omitempty"`
	From  string    `json:"from,omitempty"`
	To    string    `json:"to,omitempty"`
	At    time.Time `json:"at"`
	// Snippet is the text around the words, each of which stands between the characters U+0002 and U+0003.
	Snippet string `json:"snippet"`
}
