package team

import (
	"fmt"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Budget is a budget on an agent, with how far it was extended and told of.
type Budget struct {
	substrat.Budget
	// Extended is how often the same amount was granted again, on ExtendedDay where the budget is one of a day.
	Extended    int    `json:"extended,omitempty"`
	ExtendedDay string `json:"extended_day,omitempty"`
	// Warned and Asked say for which period, and which extension of it, 80 % and all of it have been told.
	Warned string `json:"warned,omitempty"`
	Asked  string `json:"asked,omitempty"`
}

// Meter is what was used: ever, and on the last day on which something was.
type Meter struct {
	Total substrat.Spent `json:"total"`
	Day   string         `json:"day,omitempty"`
	Today substrat.Spent `json:"today"`
}

// SetBudgets replaces an agent's budgets. What was used stays counted.
type SetBudgets struct {
	Agent   string
	Budgets []substrat.Budget
}

const budgetsMost = 16

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// nextDay is when the day of t is over.
func nextDay(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
}

func (m *Meter) add(at time.Time, s substrat.Spent) {
	if today := day(at); m.Day != today {
		m.Day, m.Today = today, substrat.Spent{}
	}
	for _, x := range []*substrat.Spent{&m.Total, &m.Today} {
		x.Turns += s.Turns
		x.WallMS += s.WallMS
		x.Tokens += s.Tokens
		x.CostMicros += s.CostMicros
		x.Unpriced += s.Unpriced
	}
}

// spent is what counts against a budget at a time.
func (b *Budget) spent(a *Agent, now time.Time) substrat.Spent {
	m := &a.Own
	if b.Scope == substrat.ScopeSubtree {
		m = &a.Below
	}
	switch {
	case b.Period != substrat.PeriodDay:
		return m.Total
	case m.Day != day(now):
		return substrat.Spent{}
	default:
		return m.Today
	}
}

// times is how often the amount of a budget may be used at a time.
func (b *Budget) times(now time.Time) int64 {
	if b.Period == substrat.PeriodDay && b.ExtendedDay != day(now) {
		return 1
	}
	return 1 + int64(b.Extended)
}

// period names the stretch in which a budget is warned of and asked for once.
func (b *Budget) period(now time.Time) string {
	name := fmt.Sprintf("x%d", b.times(now))
	if b.Period == substrat.PeriodDay {
		name = day(now) + name
	}
	return name
}

// measure is one bound of a budget.
type measure struct {
	name       string
	used, most int64
}

// measures lists the bounds that are set.
func (b *Budget) measures(a *Agent, now time.Time) []measure {
	s, n := b.spent(a, now), b.times(now)
	var out []measure
	for _, m := range []measure{
		{"turns", int64(s.Turns), int64(b.Turns) * n},
		{"seconds", s.WallMS / 1000, b.WallSeconds * n},
		{"tokens", s.Tokens, b.Tokens * n},
		{"millionths of a dollar", s.CostMicros, b.CostMicros * n},
	} {
		if m.most > 0 {
			out = append(out, m)
		}
	}
	return out
}

// usedUp finds a bound that is reached.
func (b *Budget) usedUp(a *Agent, now time.Time) (measure, bool) {
	for _, m := range b.measures(a, now) {
		if m.used >= m.most {
			return m, true
		}
	}
	return measure{}, false
}

// blocking finds the budget that keeps an agent from another turn: one of its own, or of an agent above it that bounds
// what is below.
func (s *State) blocking(a *Agent, now time.Time) (owner *Agent, b *Budget) {
	for up := a; up != nil; up = s.Agents[up.Parent] {
		for i := range up.Budgets {
			b := &up.Budgets[i]
			if up != a && b.Scope != substrat.ScopeSubtree {
				continue
			}
			if _, full := b.usedUp(up, now); full {
				return up, b
			}
		}
	}
	return nil, nil
}

// charge adds what a turn used to the agent and to everything above it.
func (f *folding) spend(a *Agent, s substrat.Spent) {
	a.Own.add(f.at, s)
	for up := a; up != nil; up = f.Agents[up.Parent] {
		up.Below.add(f.at, s)
		if len(up.Budgets) > 0 {
			f.metered = append(f.metered, up.ID)
		}
	}
}

// tellBudgets warns of budgets that are used to four fifths, and asks a person about those that are used up.
func (d *decision) tellBudgets() {
	told := map[string]bool{}
	for _, id := range d.metered {
		a := d.Agents[id]
		if a == nil || told[id] {
			continue
		}
		told[id] = true
		for i := range a.Budgets {
			d.tellBudget(a, i)
		}
	}
}

func (d *decision) tellBudget(a *Agent, i int) {
	b := &a.Budgets[i]
	period := b.period(d.At)
	if m, full := b.usedUp(a, d.At); full {
		if b.Asked != period {
			d.add(&BudgetNoted{Agent: a.ID, Budget: i, Period: period, UsedUp: true})
			x := Item{Budget: i, Item: substrat.Item{
				ID: derive(a.ID, "budget", fmt.Sprint(i), period, fmt.Sprint(d.Seq)), Kind: substrat.ItemBudget, Options: []string{"extend", "leave"},
				Text: fmt.Sprintf("The %s budget of %s is used up: %d of %d %s. No new turn of %s starts.", b.label(), d.Path(a.ID), m.used, m.most, m.name, b.whose(a)),
			}}
			if b.Period == substrat.PeriodDay {
				x.Deadline, x.Default = ptr(nextDay(d.At)), "leave"
			}
			d.open(a, x)
		}
		return
	}
	for _, m := range b.measures(a, d.At) {
		if m.used*5 < m.most*4 || b.Warned == period {
			continue
		}
		d.add(&BudgetNoted{Agent: a.ID, Budget: i, Period: period})
		d.send(Message{Message: substrat.Message{
			ID: derive(a.ID, "warned", fmt.Sprint(i), period, fmt.Sprint(d.Seq)), Team: d.Team, From: substrat.System, To: substrat.User, Kind: substrat.KindNotification,
			Text: fmt.Sprintf("Four fifths of the %s budget of %s are used: %d of %d %s.", b.label(), d.Path(a.ID), m.used, m.most, m.name),
		}})
		return
	}
}

func (b *Budget) label() string {
	if b.Period == substrat.PeriodDay {
		return "daily"
	}
	return "total"
}

func (b *Budget) whose(a *Agent) string {
	if b.Scope == substrat.ScopeSubtree {
		return a.Name + " or anything under it"
	}
	return a.Name
}

func (c SetBudgets) decide(d *decision) (any, error) {
	a, err := d.charge(c.Agent, "set budgets of")
	if err != nil {
		return nil, err
	}
	if d.Actor.Agent != "" {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot set budgets: only a person may")
	}
	budgets, err := newBudgets(c.Budgets)
	if err != nil {
		return nil, err
	}
	d.add(&BudgetsSet{Agent: a.ID, Budgets: budgets})
	return Status{"set"}, nil
}

// newBudgets checks budgets and fills in what they leave open.
func newBudgets(in []substrat.Budget) ([]Budget, error) {
	if len(in) > budgetsMost {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot set %d budgets on an agent: at most %d are allowed", len(in), budgetsMost)
	}
	var out []Budget
	for _, b := range in {
		if b.Scope == "" {
			b.Scope = substrat.ScopeSubtree
		}
		if b.Period == "" {
			b.Period = substrat.PeriodTotal
		}
		bad := b.Scope != substrat.ScopeAgent && b.Scope != substrat.ScopeSubtree || b.Period != substrat.PeriodTotal && b.Period != substrat.PeriodDay
		if bad || min(int64(b.Turns), b.WallSeconds, b.Tokens, b.CostMicros) < 0 || int64(b.Turns)|b.WallSeconds|b.Tokens|b.CostMicros == 0 {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot set a budget of scope %.20q and period %.20q: it bounds nothing, or makes no sense", b.Scope, b.Period).
				WithHint("scope is agent or subtree, period total or day, and at least one of turns, wall_seconds, tokens, cost_micros is above zero")
		}
		out = append(out, Budget{Budget: b})
	}
	return out, nil
}

// BudgetsSet means: an agent's budgets are these.
type BudgetsSet struct {
	Agent   string   `json:"agent"`
	Budgets []Budget `json:"budgets"`
}

// BudgetNoted means: somebody was told that a budget is used to four fifths, or used up.
type BudgetNoted struct {
	Agent  string `json:"agent"`
	Budget int    `json:"budget"`
	Period string `json:"period"`
	UsedUp bool   `json:"used_up,omitempty"`
}

// BudgetExtended means: a person granted the same amount again.
type BudgetExtended struct {
	Agent  string `json:"agent"`
	Budget int    `json:"budget"`
	Day    string `json:"day"`
}

// Type implements Fact.
func (*BudgetsSet) Type() string { return "budget.set" }

// Type implements Fact.
func (*BudgetNoted) Type() string { return "budget.noted" }

// Type implements Fact.
func (*BudgetExtended) Type() string { return "budget.extended" }

func (x *BudgetsSet) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	a.Budgets = x.Budgets
	f.withdraw(func(i *Item) bool { return i.AgentID != a.ID || i.Kind != substrat.ItemBudget })
	f.metered = append(f.metered, a.ID)
	return nil
}

func (f *folding) budget(agent string, i int) (*Budget, error) {
	a, err := f.agent(agent)
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(a.Budgets) {
		return nil, substrat.Errorf(substrat.CodeNotFound, "agent %s has no budget %d", agent, i)
	}
	// Views hand the list out, so it is never changed in place.
	a.Budgets = append([]Budget(nil), a.Budgets...)
	return &a.Budgets[i], nil
}

func (x *BudgetNoted) fold(f *folding) error {
	b, err := f.budget(x.Agent, x.Budget)
	if err != nil {
		return err
	}
	b.Warned = x.Period
	if x.UsedUp {
		b.Asked = x.Period
	}
	return nil
}

func (x *BudgetExtended) fold(f *folding) error {
	b, err := f.budget(x.Agent, x.Budget)
	if err != nil {
		return err
	}
	if b.Period == substrat.PeriodDay && b.ExtendedDay != x.Day {
		b.Extended = 0
	}
	b.Extended, b.ExtendedDay = b.Extended+1, x.Day
	return nil
}

// describeBudget says in words what a budget bounds.
func (b *Budget) describe(a *Agent, now time.Time) string {
	var parts []string
	for _, m := range b.measures(a, now) {
		parts = append(parts, fmt.Sprintf("%d of %d %s", m.used, m.most, m.name))
	}
	return b.label() + " budget: " + strings.Join(parts, ", ")
}
