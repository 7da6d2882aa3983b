package tool

import (
	"context"
	"path"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

// inboxBytes bounds the texts in one answer: what was taken is not delivered again, so it must not be more than a client
// will read. A single message may be longer.
const inboxBytes = 1 << 20

type inboxArgs struct {
	Sender string `json:"sender,omitempty" jsonschema:"only messages from this agent, USER or system"`
	Kind   string `json:"kind,omitempty" jsonschema:"only messages of this kind"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many at the most; default 50"`
}

func (inboxArgs) shape(s *jsonschema.Schema) {
	oneOf(s, "kind", string(substrat.KindUser), string(substrat.KindRequest), string(substrat.KindNotification),
		string(substrat.KindReply), string(substrat.KindResult), string(substrat.KindError), string(substrat.KindStart))
	least, most := 1.0, 200.0
	s.Properties["limit"].Minimum, s.Properties["limit"].Maximum = &least, &most
}

func checkInbox(ctx context.Context, c *call, in inboxArgs) (any, error) {
	if in.Limit == 0 {
		in.Limit = 50
	}
	err := c.host.Look(ctx, c.caller.Team, func(s *team.State) error {
		in.Limit = in.fit(s, c.caller.Agent)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.do(ctx, team.Take{Sender: in.Sender, Kind: substrat.MessageKind(in.Kind), Limit: in.Limit})
}

// fit lowers the limit to what goes into one answer. What comes in between stands behind what was counted.
func (in inboxArgs) fit(s *team.State, agent string) int {
	a := s.Agents[agent]
	if a == nil {
		return in.Limit
	}
	n, size := 0, 0
	for _, id := range a.Queue {
		m := s.Messages[id]
		if in.Kind != "" && string(m.Kind) != in.Kind || in.Sender != "" && !strings.EqualFold(path.Base(m.From), in.Sender) {
			continue
		}
		if size += len(m.Text); n == in.Limit || n > 0 && size > inboxBytes {
			return n
		}
		n++
	}
	return in.Limit
}
