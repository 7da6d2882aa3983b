package team

import (
	"fmt"
	"slices"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/schedule"
)

// ReleaseAccount ends what holds an account's agents: a person logged in, or knows better.
type ReleaseAccount struct {
	Account string
}

func (c ReleaseAccount) decide(d *decision) (any, error) {
	if d.Actor.Agent != "" {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot resume an account: only a person may")
	}
	if !d.Refused(c.Account) {
		return Status{"not held"}, nil
	}
	d.add(&AccountReleased{Account: c.Account})
	return Status{"resumed"}, nil
}

// Refused reports whether the provider refused an account and was not seen to take it again since.
func (s *State) Refused(account string) bool {
	return slices.ContainsFunc(s.Streaks, func(x schedule.Streak) bool { return x.Account == account && unresolved(x) })
}

// NeedsLogin reports whether the provider refused an account's login, as far as the team has seen.
func (s *State) NeedsLogin(account string) bool { return s.refusedBefore(account, substrat.ClassAuth) }

// refusedBefore is the same for one class of refusal.
func (s *State) refusedBefore(account string, class substrat.FailureClass) bool {
	return slices.ContainsFunc(s.Streaks, func(x schedule.Streak) bool { return x.Account == account && x.Class == class && unresolved(x) })
}

func unresolved(x schedule.Streak) bool {
	n := len(x.Refusals)
	return n > 0 && x.Refusals[n-1].Ended.After(x.OKEnded) && x.Refusals[n-1].Ended.After(x.Resumed)
}

// ofAccount reports whether a failure says something about the provider's account rather than about the turn: the mail
// is kept, and its attempts are not counted.
func ofAccount(c substrat.FailureClass) bool {
	switch c {
	case substrat.ClassAuth, substrat.ClassQuota, substrat.ClassRateLimit, substrat.ClassNetwork:
		return true
	default:
		return false
	}
}

// noteAccount folds the outcome of a turn into what is known of its account.
func (f *folding) noteAccount(a *Turn, x *TurnEnded) {
	o := schedule.Outcome{Account: x.Account, Began: a.StartedAt, Ended: f.at, Named: x.ResetAt, Detail: clip(x.Detail, keepBriefText)}
	switch {
	case x.Account == "":
	case x.Outcome == substrat.Completed:
		f.Streaks = schedule.Note(f.Streaks, o)
		if !f.Refused(x.Account) {
			f.withdraw(func(i *Item) bool { return i.Kind != substrat.ItemLogin || i.Account != x.Account })
		}
	case ofAccount(x.Class):
		o.Class = x.Class
		f.Streaks = schedule.Note(f.Streaks, o)
	}
}

// askLogin puts a failed authentication into the person's queue, once for an account.
func (d *decision) askLogin(a *Agent, x *TurnEnded) {
	if x.Class != substrat.ClassAuth || x.Account == "" {
		return
	}
	for _, i := range d.Items {
		if i.Kind == substrat.ItemLogin && i.Account == x.Account {
			return
		}
	}
	d.open(a, Item{Account: x.Account, Item: substrat.Item{
		ID: derive(x.Turn, "login"), Kind: substrat.ItemLogin, Options: []string{"resume", "dismiss"}, Turn: x.Turn,
		Text: fmt.Sprintf("%s cannot log in to %s: %s. Its agents wait. Log in, then resume.", a.Name, x.Account, clip(x.Detail, keepBriefText)),
	}})
}

// AccountReleased means: a person wants an account's agents to go on.
type AccountReleased struct {
	Account string `json:"account"`
}

// Type implements Fact.
func (*AccountReleased) Type() string { return "account.released" }

func (x *AccountReleased) fold(f *folding) error {
	f.Streaks = schedule.Resume(f.Streaks, x.Account, f.at)
	f.withdraw(func(i *Item) bool { return i.Kind != substrat.ItemLogin || i.Account != x.Account })
	return nil
}
