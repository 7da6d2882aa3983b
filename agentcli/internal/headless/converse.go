package headless

import (
	"context"
	"errors"
	"io"

	"substrat.dev/substrat/agentcli"
)

// Converse decodes frames until the terminal record or the end of the stream. A session that is not the one asked for is
// noted and reported in the result: the host decides what that means for the conversation.
func Converse(ctx context.Context, conn agentcli.Conn, req agentcli.Request, emit func(agentcli.Event) error, s *Stream) (agentcli.Result, error) {
	emit = noteOtherSession(req, emit)
	for {
		f, err := conn.ReadFrame(ctx)
		if errors.Is(err, io.EOF) {
			err := s.Finish(emit)
			return s.Turn(), err
		}
		if err != nil {
			return s.Turn(), err
		}
		if f.Skipped > 0 {
			err = s.Skipped(f.Skipped, f.End, emit)
		} else {
			err = s.Decode(f.Data, f.End, emit)
		}
		if err != nil || s.Result.Terminal {
			return s.Turn(), err
		}
	}
}

// noteOtherSession adds a notice when the CLI goes on in another conversation than the one it was to resume.
func noteOtherSession(req agentcli.Request, emit func(agentcli.Event) error) func(agentcli.Event) error {
	return func(e agentcli.Event) error {
		if err := emit(e); err != nil || e.Type != agentcli.EventSession || req.Session == "" || e.Session == req.Session {
			return err
		}
		return emit(agentcli.Event{
			Type: agentcli.EventNotice, Offset: e.Offset, Session: e.Session,
			Text: "the agent goes on in session " + e.Session + " instead of " + req.Session + ": it may not remember what was before",
		})
	}
}
