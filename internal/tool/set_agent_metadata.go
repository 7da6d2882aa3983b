package tool

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat/internal/team"
)

type metadataArgs struct {
	Name  string  `json:"name" jsonschema:"name of a child of yours"`
	Key   string  `json:"key" jsonschema:"what the note is called"`
	Value *string `json:"value,omitempty" jsonschema:"what it says; null or nothing removes it"`
}

func (metadataArgs) shape(s *jsonschema.Schema) {
	s.Properties["value"].Types, s.Properties["value"].Type = []string{"string", "null"}, ""
}

func setAgentMetadata(ctx context.Context, c *call, in metadataArgs) (any, error) {
	return c.toChild(ctx, in.Name, func(id string) team.Command { return team.Annotate{Agent: id, Key: in.Key, Value: in.Value} })
}
