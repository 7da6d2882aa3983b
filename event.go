package substrat

import (
	"encoding/json"
	"time"
)

// Event is one entry of the journal. The state of a team is the fold of its events in order of TeamSeq.
type Event struct {
	// Seq orders the events of one journal as they were committed; it is what readers resume from.
	Seq int64 `json:"seq"`
	// Team is the root agent's id, TeamSeq the event's number within it, from 1 without gaps.
	Team    string    `json:"team"`
	TeamSeq int64     `json:"team_seq"`
	Type    string    `json:"type"`
	At      time.Time `json:"at"`
	// Actor is who asked for it: an agent's path, USER, "operator as PATH", or system.
	Actor string          `json:"actor,omitempty"`
	Data  json.RawMessage `json:"data"`
	// Key and Answer make a repeated tool call answerable without doing it again. Key is unique within a turn.
	Key    string          `json:"key,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
}
