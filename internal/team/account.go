package team

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Account is what a team saw of one account of a provider: enough to tell when its agents may go on.
type Account struct {
	// Failures counts turns in a row that failed for Class, the last at FailedAt; OKAt is when one last completed.
	Failures int                   `json:"failures,omitempty"`
	Class    substrat.FailureClass `json:"class,omitempty"`
	Detail   string                `json:"detail,omitempty"`
	FailedAt time.Time             `json:"failed_at,omitzero"`
	OKAt     time.Time             `json:"ok_at,omitzero"`
	// ResetAt is when the provider said it would go on, zero if it did not say.
	ResetAt time.Time `json:"reset_at,omitzero"`
}

// ReleaseAccount ends what holds an account's agents: a person logged in, or knows better.
type ReleaseAccount struct {
	Account string
}

func (c ReleaseAccount) decide(d *decision) (any, error) {
	if d.Actor.Agent != "" {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot resume an account: only a person may")
	}
	if x := d.Accounts[c.Account]; x == nil || x.Failures == 0 {
		return Status{"not held"}, nil
	}
	d.add(&AccountReleased{Account: c.Account})
	return Status{"resumed"}, nil
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
func (f *folding) noteAccount(x *TurnEnded) {
	if x.Account == "" {
		return
	}
	a := f.Accounts[x.Account]
	switch {
	case x.Outcome == substrat.Completed:
		if a != nil {
			a.OKAt, a.Failures, a.Class, a.Detail, a.ResetAt = f.at, 0, "", "", time.Time{}
			f.withdraw(func(i *Item) bool { return i.Kind != substrat.ItemLogin || i.Account != x.Account })
		}
	case ofAccount(x.Class):
		if a == nil {
			a = &Account{}
			f.Accounts[x.Account] = a
		}
		if a.Class != x.Class {
			a.Failures = 0
		}
		a.Failures, a.Class, a.Detail, a.FailedAt, a.ResetAt = a.Failures+1, x.Class, clip(x.Detail, keepBriefText), f.at, x.ResetAt
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

// AccountNames lists the accounts of which something is known.
func (s *State) AccountNames() []string {
	var out []string
	for name := range s.Accounts {
		out = append(out, name)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

// AccountReleased means: an account's failures are forgotten.
type AccountReleased struct {
	Account string `json:"account"`
}

// Type implements Fact.
func (*AccountReleased) Type() string { return "account.released" }

func (x *AccountReleased) fold(f *folding) error {
	delete(f.Accounts, x.Account)
	f.withdraw(func(i *Item) bool { return i.Kind != substrat.ItemLogin || i.Account != x.Account })
	return nil
}
