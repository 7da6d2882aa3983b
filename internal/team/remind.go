package team

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Remind sets a reminder of the calling agent's: a message to itself, once or again and again.
type Remind struct {
	ID     string
	Reason string
	After  time.Duration
	Every  time.Duration // 0: once
	// Agent is whom a person sets it for.
	Agent string
}

// Reminded answers Remind.
type Reminded struct {
	Status     string    `json:"status"` // "set"
	ReminderID string    `json:"reminder_id"`
	At         time.Time `json:"at"`
}

// CancelReminder takes a reminder back.
type CancelReminder struct {
	ID    string
	Agent string // whose, for a person
}

// Reminder is durable: one that fell due while nothing ran fires once at the next start.
type Reminder struct {
	ID     string        `json:"id"`
	Reason string        `json:"reason"`
	At     time.Time     `json:"at"`
	Every  time.Duration `json:"every,omitempty"`
	// Hops continues the chain of the turn that set it, so that reminders do not get around its limit. One that comes again
	// and again begins a chain each time: what bounds it is its pace and the budgets.
	Hops int `json:"hops,omitempty"`
}

// How near and how far a reminder may be.
const (
	remindLeast  = time.Second
	remindEvery  = 10 * time.Second
	remindMost   = 366 * 24 * time.Hour
	reasonsBytes = 10_000
)

// subject is the agent that a command is about: the caller, or whom a person names.
func (d *decision) subject(named string) (*Agent, error) {
	if d.Actor.Agent != "" {
		return d.caller()
	}
	if a := d.Agents[named]; a != nil {
		return a, nil
	}
	return nil, substrat.Errorf(substrat.CodeNotFound, "no such agent, or it has ended")
}

func (c Remind) decide(d *decision) (any, error) {
	a, err := d.subject(c.Agent)
	if err != nil {
		return nil, err
	}
	reason := strings.TrimSpace(clean(c.Reason))
	switch {
	case reason == "" || len(reason) > reasonsBytes:
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot set a reminder: a reason has 1 to %d bytes", reasonsBytes)
	case c.After < remindLeast || c.After > remindMost:
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot set a reminder for %v from now", c.After).WithHint("after_s is from 1 second to a year")
	case c.Every != 0 && (c.Every < remindEvery || c.Every > remindMost):
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot repeat a reminder every %v", c.Every).WithHint("every_s is from %d seconds to a year", int(remindEvery.Seconds()))
	case len(a.Reminders) >= d.Limits.Reminders:
		return nil, substrat.Errorf(substrat.CodeLimit, "cannot set a reminder: %d are set, which is the limit", len(a.Reminders)).WithHint("cancel_reminder takes one back")
	case c.ID == "" || slices.ContainsFunc(a.Reminders, func(r Reminder) bool { return r.ID == c.ID }):
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot set a reminder: its id is in use")
	}
	_, hops := chain(a)
	if hops > d.Limits.Hops {
		return nil, d.tooManyHops("set a reminder")
	}
	if c.Every > 0 {
		hops = 1
	}
	at := d.At.Add(c.After)
	d.add(&ReminderSet{Agent: a.ID, Reminder: Reminder{ID: c.ID, Reason: reason, At: at, Every: c.Every, Hops: hops}})
	return Reminded{"set", c.ID, at}, nil
}

func (c CancelReminder) decide(d *decision) (any, error) {
	a, err := d.subject(c.Agent)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(a.Reminders, func(r Reminder) bool { return r.ID == c.ID }) {
		return nil, substrat.Errorf(substrat.CodeNotFound, "cannot cancel: no reminder %.80q is set", c.ID).WithHint("it may have fired")
	}
	d.add(&ReminderCancelled{Agent: a.ID, ID: c.ID})
	return Status{"cancelled"}, nil
}

// remindDue sends the reminders that are due. One that missed several of its times comes once.
func (d *decision) remindDue() {
	for _, r := range d.dueReminders(d.At) {
		a := d.Agents[r.agent]
		fired := &ReminderFired{Agent: a.ID, ID: r.ID}
		if r.Every > 0 {
			fired.Next = r.At.Add(r.Every * (1 + d.At.Sub(r.At)/r.Every))
		}
		d.add(fired)
		text := "Reminder: " + r.Reason
		if late := d.At.Sub(r.At); late > time.Minute {
			text += fmt.Sprintf("\n(It was due %s ago, while nothing ran.)", late.Round(time.Second))
		}
		d.send(Message{ToID: a.ID, Message: substrat.Message{
			ID: derive(r.ID, r.At.Format(time.RFC3339Nano)), Team: d.Team, From: substrat.System, To: d.Path(a.ID),
			Kind: substrat.KindReminder, Text: text, Hops: r.Hops,
		}})
	}
}

type ownReminder struct {
	Reminder
	agent string
}

// dueReminders lists what is due, oldest first.
func (s *State) dueReminders(now time.Time) []ownReminder {
	var out []ownReminder
	for id := range s.reminded {
		for _, r := range s.Agents[id].Reminders {
			if !now.Before(r.At) {
				out = append(out, ownReminder{r, id})
			}
		}
	}
	slices.SortFunc(out, func(a, b ownReminder) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return out
}

// ReminderSet means: an agent is to be reminded of something.
type ReminderSet struct {
	Agent    string   `json:"agent"`
	Reminder Reminder `json:"reminder"`
}

// ReminderFired means: it was. Next is when it comes again, zero for never.
type ReminderFired struct {
	Agent string    `json:"agent"`
	ID    string    `json:"id"`
	Next  time.Time `json:"next,omitzero"`
}

// ReminderCancelled means: it is not to be any more.
type ReminderCancelled struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

// Type implements Fact.
func (*ReminderSet) Type() string { return "reminder.set" }

// Type implements Fact.
func (*ReminderFired) Type() string { return "reminder.fired" }

// Type implements Fact.
func (*ReminderCancelled) Type() string { return "reminder.cancelled" }

func (x *ReminderSet) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	if x.Reminder.ID == "" || a.reminder(x.Reminder.ID) >= 0 {
		return substrat.Errorf(substrat.CodeConflict, "reminder %q exists", x.Reminder.ID)
	}
	a.Reminders = append(a.Reminders, x.Reminder)
	f.reminded[a.ID] = struct{}{}
	return nil
}

func (x *ReminderFired) fold(f *folding) error {
	a, i, err := f.reminder(x.Agent, x.ID)
	if err != nil {
		return err
	}
	if x.Next.IsZero() {
		f.dropReminder(a, i)
		return nil
	}
	a.Reminders[i].At = x.Next
	return nil
}

func (x *ReminderCancelled) fold(f *folding) error {
	a, i, err := f.reminder(x.Agent, x.ID)
	if err != nil {
		return err
	}
	f.dropReminder(a, i)
	return nil
}

func (a *Agent) reminder(id string) int {
	return slices.IndexFunc(a.Reminders, func(r Reminder) bool { return r.ID == id })
}

func (f *folding) reminder(agent, id string) (*Agent, int, error) {
	a, err := f.agent(agent)
	if err != nil {
		return nil, 0, err
	}
	i := a.reminder(id)
	if i < 0 {
		return nil, 0, substrat.Errorf(substrat.CodeNotFound, "no reminder %s", id)
	}
	return a, i, nil
}

func (f *folding) dropReminder(a *Agent, i int) {
	a.Reminders = slices.Delete(a.Reminders, i, i+1)
	if len(a.Reminders) == 0 {
		a.Reminders = nil
		delete(f.reminded, a.ID)
	}
}
