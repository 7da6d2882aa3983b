package daemon

import (
	"context"
	"errors"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/config"
)

// keys looks at the keys that the configuration names: those whose values stand in it, and files that cannot be used. The
// environment is the daemon's own, and a keyring is not asked without need: it may ask its user.
func keys(ctx context.Context, home string) []Finding {
	c, err := config.Load(ConfigPath(home))
	if err != nil {
		return []Finding{{Name: "configuration", Required: true, Detail: err.Error(), Remedy: "mend " + ConfigPath(home)}}
	}
	var out []Finding
	for _, k := range c.Keys() {
		switch {
		case k.Open:
			out = append(out, Finding{Name: "key", Detail: k.Name + " stands in substrat.toml itself", Remedy: `take it from elsewhere: "$NAME", "file:/path" or "keyring:service/user"`})
		case k.Source.File():
			_, err := k.Source.Value(ctx)
			f := Finding{Name: "key", OK: err == nil, Detail: k.Name + " is in " + k.Source.Place()}
			var e *substrat.Error
			if errors.As(err, &e) {
				f.Detail, f.Remedy = k.Name+": "+e.Message, e.Hint
			}
			out = append(out, f)
		}
	}
	return out
}
