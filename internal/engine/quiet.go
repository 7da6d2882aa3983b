package engine

import (
	"context"
	"fmt"
	"log/slog"

	"substrat.dev/substrat/agentcli/redact"
)

// quiet is a log that holds no secrets, whatever it is given: an error's text may be a program's own words.
type quiet struct {
	slog.Handler
	set *redact.Set
}

// Handle implements slog.Handler.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, q.set.Shown(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(q.clean(a))
		return true
	})
	return q.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = q.clean(a)
	}
	return quiet{q.Handler.WithAttrs(out), q.set}
}

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name), q.set} }

func (q quiet) clean(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, q.set.Shown(v.String()))
	case slog.KindAny:
		if text := fmt.Sprint(v.Any()); q.set.Shown(text) != text {
			return slog.String(a.Key, q.set.Shown(text))
		}
	case slog.KindGroup:
		var group []any
		for _, in := range v.Group() {
			group = append(group, q.clean(in))
		}
		return slog.Group(a.Key, group...)
	}
	return slog.Attr{Key: a.Key, Value: v}
}
