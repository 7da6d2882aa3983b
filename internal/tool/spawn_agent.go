package tool

import (
	"context"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

// What an agent may give to a child. It is written down with every snapshot and, the metadata apart, goes into prompts.
const (
	instructionsMost  = 256 << 10
	metadataMost      = 32
	metadataKeyMost   = 64
	metadataValueMost = 4 << 10
)

// modelForm keeps a model's name from being taken for a flag of the CLI it is passed to.
var modelForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@=,+\[\]-]{0,127}$`)

type spawnArgs struct {
	Name            string            `json:"name" jsonschema:"its name, unique among those you can reach"`
	Instructions    string            `json:"instructions" jsonschema:"what it is to do; it sees them in every turn"`
	Role            string            `json:"role,omitempty" jsonschema:"worker (default), reviewer (read-only workspace) or manager"`
	Workspace       string            `json:"workspace,omitempty" jsonschema:"the workspace it lives in, as list_workspaces names it; default yours"`
	WorkspaceSubdir string            `json:"workspace_subdir,omitempty" jsonschema:"a directory below that workspace for it to work in; default all of it"`
	Provider        string            `json:"provider,omitempty" jsonschema:"which agent CLI runs it; default yours"`
	Model           string            `json:"model,omitempty" jsonschema:"which model it uses; default yours"`
	Metadata        map[string]string `json:"metadata,omitempty" jsonschema:"notes to keep with it"`
}

func (spawnArgs) shape(s *jsonschema.Schema) {
	oneOf(s, "role", string(substrat.Worker), string(substrat.Reviewer), string(substrat.Manager))
}

func spawnAgent(ctx context.Context, c *call, in spawnArgs) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	cmd := team.Create{
		ID: c.host.NewID(), Name: in.Name, Instructions: in.Instructions, Role: substrat.Role(in.Role), Subdir: in.WorkspaceSubdir, Workspace: in.Workspace,
		Provider: in.Provider, Model: in.Model, Metadata: in.Metadata,
	}
	if in.Provider != "" {
		network, err := c.host.CheckProvider(in.Provider)
		if err != nil {
			return nil, err
		}
		cmd.Network = network
	}
	return c.do(ctx, cmd)
}

// check refuses what would weigh on the team for as long as the child lives.
func (in *spawnArgs) check() error {
	if len(in.Instructions) > instructionsMost {
		return substrat.Errorf(substrat.CodeTooLarge, "cannot create %.80q: %d bytes of instructions, at most %d are allowed", in.Name, len(in.Instructions), instructionsMost).
			WithHint("put them in a file of the workspace and name it in the instructions")
	}
	if in.Model != "" && !modelForm.MatchString(in.Model) {
		return substrat.Errorf(substrat.CodeInvalid, "cannot create %.80q: no model is called %.80q", in.Name, in.Model)
	}
	if len(in.Metadata) > metadataMost {
		return substrat.Errorf(substrat.CodeTooLarge, "cannot create %.80q: %d notes of metadata, at most %d are allowed", in.Name, len(in.Metadata), metadataMost)
	}
	for k, v := range in.Metadata {
		if len(k) > metadataKeyMost || len(v) > metadataValueMost {
			return substrat.Errorf(substrat.CodeTooLarge, "cannot create %.80q: the note %.80q is too long", in.Name, k).
				WithHint("a key holds %d bytes, a value %d", metadataKeyMost, metadataValueMost)
		}
	}
	return nil
}
