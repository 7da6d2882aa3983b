package tool

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

type remindArgs struct {
	Reason string  `json:"reason" jsonschema:"what to remind you of; it is the message you get"`
	AfterS float64 `json:"after_s" jsonschema:"in how many seconds"`
	EveryS float64 `json:"every_s,omitempty" jsonschema:"and then again every so many seconds, at least 10; default never"`
}

func (remindArgs) shape(s *jsonschema.Schema) {
	least, most, zero := 1.0, 366.0*24*3600, 0.0
	s.Properties["after_s"].Minimum, s.Properties["after_s"].Maximum = &least, &most
	s.Properties["every_s"].Minimum, s.Properties["every_s"].Maximum = &zero, &most
}

func remindMe(ctx context.Context, c *call, in remindArgs) (any, error) {
	return c.do(ctx, team.Remind{ID: c.host.NewID(), Reason: in.Reason, After: seconds(in.AfterS), Every: seconds(in.EveryS)})
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

type cancelArgs struct {
	ReminderID string `json:"reminder_id" jsonschema:"what remind_me answered"`
}

func cancelReminder(ctx context.Context, c *call, in cancelArgs) (any, error) {
	if in.ReminderID == "" {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot cancel a reminder: no id is given")
	}
	return c.do(ctx, team.CancelReminder{ID: in.ReminderID})
}
