package engine

import (
	"context"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/schedule"
	"substrat.dev/substrat/internal/team"
)

// bill adds to a verdict what the provider's account has to do with it.
func (r *runner) bill(v *verdict) {
	var provider, model string
	err := r.e.Look(context.Background(), r.team, func(s *team.State) error {
		if a := s.Agents[r.agent]; a != nil {
			provider, model = a.Provider, a.Model
		}
		return nil
	})
	if err != nil || provider == "" {
		return
	}
	v.account = r.e.cfg.Rules.Account(provider)
	switch v.class {
	case substrat.ClassQuota, substrat.ClassRateLimit:
		v.resetAt, _ = schedule.ParseReset(v.detail, time.Now(), time.LoadLocation)
	}
	if u := v.result.Usage; u != nil {
		if v.result.Model != "" {
			model = v.result.Model
		}
		v.cost, v.priced = r.e.cfg.Rules.Cost(provider, model, *u)
	}
}
