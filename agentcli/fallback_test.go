package agentcli_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

func at(models ...string) agentcli.Plan {
	var p agentcli.Plan
	for _, m := range models {
		model, profile, _ := strings.Cut(m, ":")
		p = append(p, agentcli.Attempt{Model: model, Profile: agentcli.Profile{Name: profile}})
	}
	return p
}

func TestFallback(t *testing.T) {
	edit := &agentcli.ToolCall{Kind: "edit"}
	read := &agentcli.ToolCall{Kind: "read"}
	type end struct {
		class substrat.FailureClass // empty completes
		tool  *agentcli.ToolCall
	}
	for _, c := range []struct {
		name  string
		plan  agentcli.Plan
		ends  []end
		after bool
		want  string
	}{
		{"the first does", at("m:a", "m:b"), []end{{}}, false, "m:a"},
		{"another profile", at("m:a", "m:b", "n:a"), []end{{substrat.ClassAuth, nil}, {}}, false, "m:a m:b"},
		{"quota is recoverable", at("m:a", "m:b"), []end{{substrat.ClassQuota, nil}, {}}, false, "m:a m:b"},
		{"a cooling profile is passed over", at("m:a", "n:a", "n:b"), []end{{substrat.ClassRateLimit, nil}, {}}, false, "m:a n:b"},
		{"a bad model has no good profile", at("m:a", "m:b", "n:a"), []end{{substrat.ClassModel, nil}, {}}, false, "m:a n:a"},
		{"the agent's own failure is final", at("m:a", "m:b"), []end{{substrat.ClassAgent, nil}}, false, "m:a"},
		{"a cancel is final", at("m:a", "m:b"), []end{{substrat.ClassCancelled, nil}}, false, "m:a"},
		{"effects are final", at("m:a", "m:b"), []end{{substrat.ClassNetwork, edit}}, false, "m:a"},
		{"effects, but asked", at("m:a", "m:b"), []end{{substrat.ClassNetwork, edit}, {}}, true, "m:a m:b"},
		{"reading is no effect", at("m:a", "m:b"), []end{{substrat.ClassNetwork, read}, {}}, false, "m:a m:b"},
		{"all fail", at("m:a", "m:b"), []end{{substrat.ClassNetwork, nil}, {substrat.ClassTimeout, nil}}, false, "m:a m:b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var made []string
			var events []agentcli.Event
			o := agentcli.FallbackOptions{Plan: c.plan, AfterEffects: c.after, Emit: func(e agentcli.Event) error { events = append(events, e); return nil }}
			r, err := agentcli.RunFallback(t.Context(), o, func(_ context.Context, a agentcli.Attempt, emit func(agentcli.Event) error) (agentcli.Result, error) {
				e := c.ends[len(made)]
				made = append(made, a.String())
				if e.tool != nil {
					emit(agentcli.Event{Type: agentcli.EventToolStart, Tool: e.tool})
				}
				r := agentcli.Result{Outcome: substrat.Completed, Class: e.class}
				if e.class != "" {
					r.Outcome = substrat.FailedTurn
				}
				if e.class == substrat.ClassCancelled {
					r.Outcome = substrat.Cancelled
				}
				emit(agentcli.Event{Type: agentcli.EventResult, Result: &r})
				return r, nil
			})
			if got := strings.Join(made, " "); err != nil || got != c.want {
				t.Fatalf("tried %s, want %s (%v)", got, c.want, err)
			}
			resets, results := 0, 0
			for _, e := range events {
				if e.Type == agentcli.EventRetry && e.Reset {
					resets++
				}
				if e.Type == agentcli.EventResult {
					results++
				}
			}
			if resets != len(made)-1 || results != 1 {
				t.Errorf("%d resets and %d results for %d attempts", resets, results, len(made))
			}
			if c.name == "all fail" && !strings.Contains(r.Detail, "m:a: network, m:b: timeout") {
				t.Errorf("detail %q", r.Detail)
			}
		})
	}
}

// TestCooldownsOutliveTheTurn and honour what the provider asked for; which attempt a turn needed is not remembered.
func TestCooldownsOutliveTheTurn(t *testing.T) {
	now := time.Unix(1000, 0)
	cool := &agentcli.Cooldowns{}
	plan := at("m:a", "m:b")
	first := agentcli.NewRotation(plan, cool, false)
	a, _, _ := first.Next(now)
	first.Report(a, agentcli.Result{Outcome: substrat.FailedTurn, Class: substrat.ClassRateLimit, RetryAfterMS: 90_000}, false, now)
	b, _, _ := first.Next(now)
	first.Report(b, agentcli.Result{Outcome: substrat.FailedTurn, Class: substrat.ClassRateLimit}, false, now)
	second := agentcli.NewRotation(plan, cool, false)
	if _, ready, ok := second.Next(now); ok || !ready.Equal(now.Add(time.Minute)) {
		t.Errorf("ready at %v, %v", ready, ok)
	}
	if got, _, _ := second.Next(now.Add(61 * time.Second)); got.String() != "m:b" {
		t.Errorf("after a minute %s", got)
	}
	third := agentcli.NewRotation(plan, cool, false)
	if got, _, _ := third.Next(now.Add(90 * time.Second)); got.String() != "m:a" {
		t.Errorf("after what was asked for %s", got)
	}
	o := agentcli.FallbackOptions{Plan: plan, Cooldowns: cool, Now: func() time.Time { return now }}
	r, err := agentcli.RunFallback(t.Context(), o, func(context.Context, agentcli.Attempt, func(agentcli.Event) error) (agentcli.Result, error) {
		t.Error("a cooling profile was used")
		return agentcli.Result{}, nil
	})
	if err != nil || r.Class != substrat.ClassRateLimit || r.RetryAfterMS != 60_000 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRotationRules: no attempt twice, none after success, cancel or effects, and none of a profile that cools.
func TestRotationRules(t *testing.T) {
	classes := []substrat.FailureClass{"", substrat.ClassAuth, substrat.ClassQuota, substrat.ClassRateLimit, substrat.ClassNetwork, substrat.ClassTimeout, substrat.ClassModel, substrat.ClassAgent, substrat.ClassCancelled}
	rapid.Check(t, func(t *rapid.T) {
		var plan agentcli.Plan
		for _, m := range []string{"m", "n"} {
			for _, p := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).Draw(t, m) {
				plan = append(plan, at(m+":"+p)...)
			}
		}
		cool, now := &agentcli.Cooldowns{}, time.Unix(0, 0)
		for range 3 {
			r := agentcli.NewRotation(plan, cool, false)
			var made []string
			over, bad := false, map[string]bool{}
			for {
				a, _, ok := r.Next(now)
				if !ok {
					break
				}
				if over || slices.Contains(made, a.String()) || bad[a.Model] || !cool.Until(a.Profile.Name, now).IsZero() {
					t.Fatalf("%s after %v", a, made)
				}
				made = append(made, a.String())
				class := rapid.SampledFrom(classes).Draw(t, "class")
				effects := rapid.Bool().Draw(t, "effects")
				res := agentcli.Result{Outcome: substrat.FailedTurn, Class: class}
				if class == "" {
					res.Outcome = substrat.Completed
				}
				over = effects || agentcli.RecoveryOf(class) == agentcli.Final
				bad[a.Model] = bad[a.Model] || class == substrat.ClassModel
				r.Report(a, res, effects, now)
				now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "s")) * time.Second)
			}
		}
	})
}
