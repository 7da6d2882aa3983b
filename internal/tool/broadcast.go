package tool

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat/internal/team"
)

type broadcastArgs struct {
	Text string `json:"text" jsonschema:"what to say"`
	To   string `json:"to,omitempty" jsonschema:"siblings (default) or children"`
}

func (broadcastArgs) shape(s *jsonschema.Schema) { oneOf(s, "to", "siblings", "children") }

func broadcast(ctx context.Context, c *call, in broadcastArgs) (any, error) {
	return c.do(ctx, team.SendAll{ID: c.host.NewID(), Text: in.Text, To: in.To})
}
