package engine

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/tool"
)

// meters bound how fast tools are called. They live in memory alone: a daemon that starts anew begins with full buckets.
type meters struct {
	mu     sync.Mutex
	agents map[string]*rate.Limiter
	teams  map[string]*rate.Limiter
}

// metersMost is how many buckets are kept before those that are full are dropped: they say nothing.
const metersMost = 10_000

func newMeters() *meters {
	return &meters{agents: map[string]*rate.Limiter{}, teams: map[string]*rate.Limiter{}}
}

// take counts one call. It answers how long to wait where the call comes too soon, and whether that is the team's doing.
func (m *meters) take(now time.Time, r Rates, teamID, agent string) (wait time.Duration, whole bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if wait := m.draw(m.agents, agent, now, r.AgentPerMinute, r.AgentBurst); wait > 0 {
		return wait, false
	}
	return m.draw(m.teams, teamID, now, r.TeamPerMinute, r.TeamBurst), true
}

func (m *meters) draw(buckets map[string]*rate.Limiter, id string, now time.Time, perMinute, burst int) time.Duration {
	if perMinute <= 0 {
		return 0
	}
	if len(buckets) > metersMost {
		for k, b := range buckets {
			if b.TokensAt(now) >= float64(b.Burst()) {
				delete(buckets, k)
			}
		}
	}
	b := buckets[id]
	if b == nil {
		b = rate.NewLimiter(rate.Limit(float64(perMinute)/60), max(burst, 1))
		buckets[id] = b
	}
	res := b.ReserveN(now, 1)
	wait := res.DelayFrom(now)
	if wait > 0 {
		res.CancelAt(now)
	}
	return wait
}

// Admit implements tool.Host.
func (e *Engine) Admit(ctx context.Context, c tool.Caller, key, name string, args json.RawMessage) (grant string, err error) {
	if c.Operator {
		return "", nil
	}
	if wait, whole := e.meters.take(time.Now(), e.cfg.Rules.Rates(), c.Team, c.Agent); wait > 0 {
		who := "you have"
		if whole {
			who = "your team has"
		}
		return "", substrat.Errorf(substrat.CodeRateLimited, "cannot call %s now: %s called tools too often", name, who).
			WithHint("try again in %.1f s; replies come by themselves, do not poll", max(wait.Seconds(), 0.1))
	}
	var call Call
	done := false
	err = e.Look(ctx, c.Team, func(s *team.State) error {
		a := s.Agents[c.Agent]
		if a == nil {
			return substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
		}
		call = Call{Path: s.Path(c.Agent), Role: a.Role, Tool: name}
		grant = s.Granted(c.Agent, name, args)
		_, done = s.Answered(key)
		return nil
	})
	if err != nil || done {
		return "", err
	}
	switch r := e.cfg.Rules.Policy(call); r.Effect {
	case Deny:
		return "", denied(name, r)
	case Asks:
		if grant != "" {
			return grant, nil
		}
		return "", e.askPermission(ctx, c, name, args, r)
	default:
		return "", nil
	}
}

func denied(name string, r Ruling) error {
	err := substrat.Errorf(substrat.CodeForbidden, "cannot call %s: %s does not allow it", name, r.Rule)
	if r.Reason != "" {
		return err.WithHint("%s", r.Reason)
	}
	return err
}

// askPermission puts the call before a person. The refusal says that the answer comes as a message.
func (e *Engine) askPermission(ctx context.Context, c tool.Caller, name string, args json.RawMessage, r Ruling) error {
	rule := r.Rule
	if r.Reason != "" {
		rule += ": " + r.Reason
	}
	meta := team.Meta{Actor: team.Actor{Agent: c.Agent, Turn: c.Turn}}
	answer, err := e.Do(ctx, c.Team, meta, team.RequestPermission{ID: e.NewID(), Tool: name, Input: args, Rule: rule})
	if err != nil {
		return err
	}
	var asked team.Asked
	if err := json.Unmarshal(answer, &asked); err != nil {
		return substrat.Errorf(substrat.CodeInternal, "cannot read an answer: %v", err)
	}
	return substrat.Errorf(substrat.CodeApproval, "a person is asked whether you may call %s (question %s)", name, asked.QuestionID).
		WithHint("end your turn; the answer is your next message, and if it is allow, call again with the same arguments")
}
