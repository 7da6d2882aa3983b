package team

import (
	"fmt"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// Subscribe asks for a message whenever a neighbour goes from one state to another.
type Subscribe struct {
	ID string
	// Name is a neighbour; Transition is "busy->idle", with * for any state.
	Name       string
	Transition string
	Once       bool
}

// Subscribed answers Subscribe.
type Subscribed struct {
	Status         string `json:"status"` // "subscribed"
	SubscriptionID string `json:"subscription_id"`
}

// Unsubscribe ends a subscription of the calling agent's.
type Unsubscribe struct {
	ID string
}

// Subscription is a wish to hear of changes of another agent's state. It ends with either of the two.
type Subscription struct {
	ID     string `json:"id"`
	Target string `json:"target"`
	From   string `json:"from"`
	To     string `json:"to"`
	Once   bool   `json:"once,omitempty"`
}

// states are what a transition may name.
var states = []string{
	string(substrat.Idle), string(substrat.Busy), string(substrat.Waiting), string(substrat.Gated), string(substrat.Failed),
	string(substrat.Terminated), "*",
}

func (c Subscribe) decide(d *decision) (any, error) {
	a, err := d.caller()
	if err != nil {
		return nil, err
	}
	from, to, ok := strings.Cut(c.Transition, "->")
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if !ok || !slices.Contains(states, from) || !slices.Contains(states, to) {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot subscribe to %.80q: not a transition", c.Transition).
			WithHint(`as in "busy->idle"; the states are %s`, strings.Join(states, ", "))
	}
	target := d.neighbour(a, c.Name)
	if target == nil {
		return nil, substrat.Errorf(substrat.CodeUnreachable, "cannot subscribe to %.80q: no parent, sibling or child of that name", c.Name).
			WithHint("you can reach: %s", strings.Join(d.reachable(a), ", "))
	}
	for _, s := range a.Subscriptions {
		if s.Target == target.ID && s.From == from && s.To == to && s.Once == c.Once {
			return Subscribed{"subscribed", s.ID}, nil
		}
	}
	if c.ID == "" || len(a.Subscriptions) >= d.Limits.Subscriptions {
		return nil, substrat.Errorf(substrat.CodeLimit, "cannot subscribe: you have %d subscriptions, which is the limit", len(a.Subscriptions)).
			WithHint("unsubscribe from what you need no more")
	}
	d.add(&SubscriptionMade{Agent: a.ID, Subscription: Subscription{ID: c.ID, Target: target.ID, From: from, To: to, Once: c.Once}})
	return Subscribed{"subscribed", c.ID}, nil
}

func (c Unsubscribe) decide(d *decision) (any, error) {
	a, err := d.caller()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(a.Subscriptions, func(s Subscription) bool { return s.ID == c.ID }) {
		return nil, substrat.Errorf(substrat.CodeNotFound, "cannot unsubscribe: no subscription %.80q", c.ID).
			WithHint("one that was made with once ends when it fires")
	}
	d.add(&SubscriptionEnded{Agent: a.ID, ID: c.ID})
	return Status{"unsubscribed"}, nil
}

// firing is a change of state that somebody subscribed to and has not been told of. It lives only between the facts of
// one transaction.
type firing struct {
	subscriber, subscription string
	name                     string
	from, to                 substrat.AgentState
	hops                     int
	once                     bool
}

// tellStates tells those who subscribed. The message's id is derived from the place in the journal. Agents that watch each
// other would wake each other for ever: at the end of a chain they are not told any more.
func (d *decision) tellStates() {
	for i, f := range d.firings {
		tooLong := f.hops > d.Limits.Hops
		d.add(&SubscriptionFired{Agent: f.subscriber, ID: f.subscription, Once: f.once, Dropped: tooLong})
		if to := d.Agents[f.subscriber]; to != nil && !tooLong {
			d.send(Message{ToID: to.ID, Message: substrat.Message{
				ID: derive(f.subscription, fmt.Sprint(d.Seq), fmt.Sprint(i)), Team: d.Team, From: substrat.System, To: d.Path(to.ID),
				Kind: substrat.KindState, Text: fmt.Sprintf("[state] %s: %s -> %s", f.name, f.from, f.to), Hops: f.hops,
			}})
		}
	}
}

// mark notes that an agent's state may have changed by the fact that is being folded.
func (s *State) mark(agent string) {
	if len(s.watched[agent]) > 0 {
		s.marked = append(s.marked, agent)
	}
}

// observe compares the states of the marked agents with what was seen last, and notes who wanted to hear of it.
func (s *State) observe() {
	for _, id := range s.marked {
		before, known := s.seen[id]
		if !known {
			continue
		}
		a, now := s.Agents[id], sight{substrat.Terminated, before.name, before.hops}
		if a != nil {
			now = s.look(a)
		}
		s.seen[id] = now
		if before.state != now.state {
			s.fire(id, before.state, now)
		}
		if a == nil {
			s.unwatchAll(id)
		}
	}
	s.marked = nil
}

// sight is how a watched agent was seen last.
type sight struct {
	state substrat.AgentState
	name  string
	hops  int
}

func (s *State) look(a *Agent) sight {
	x := sight{s.stateOf(a), a.Name, a.LastHops}
	if a.Turn != nil {
		x.hops = a.Turn.Hops
	}
	return x
}

// unwatchAll ends the subscriptions to an agent that has ended.
func (s *State) unwatchAll(target string) {
	for _, id := range s.watched[target] {
		if a := s.Agents[id]; a != nil {
			a.Subscriptions = slices.DeleteFunc(slices.Clone(a.Subscriptions), func(x Subscription) bool { return x.Target == target })
			if len(a.Subscriptions) == 0 {
				a.Subscriptions = nil
			}
		}
	}
	delete(s.watched, target)
	delete(s.seen, target)
}

func (s *State) fire(target string, from substrat.AgentState, now sight) {
	to := now.state
	for _, w := range s.watched[target] {
		a := s.Agents[w]
		if a == nil {
			continue
		}
		for _, sub := range a.Subscriptions {
			if sub.Target != target || sub.From != "*" && sub.From != string(from) || sub.To != "*" && sub.To != string(to) {
				continue
			}
			s.firings = append(s.firings, firing{
				subscriber: w, subscription: sub.ID, name: now.name, from: from, to: to, hops: now.hops + 1, once: sub.Once,
			})
		}
	}
}

// SubscriptionMade means: an agent wants to hear of another's changes of state.
type SubscriptionMade struct {
	Agent        string       `json:"agent"`
	Subscription Subscription `json:"subscription"`
}

// SubscriptionEnded means: it does not any more.
type SubscriptionEnded struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

// SubscriptionFired means: it is told of one. A subscription made with once ends by that.
type SubscriptionFired struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
	Once  bool   `json:"once,omitempty"`
	// Dropped says that nothing was sent, because the chain of messages is too long.
	Dropped bool `json:"dropped,omitempty"`
}

// Type implements Fact.
func (*SubscriptionMade) Type() string { return "subscription.made" }

// Type implements Fact.
func (*SubscriptionEnded) Type() string { return "subscription.ended" }

// Type implements Fact.
func (*SubscriptionFired) Type() string { return "subscription.fired" }

func (x *SubscriptionMade) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	if f.Agents[x.Subscription.Target] == nil || x.Subscription.ID == "" || a.subscription(x.Subscription.ID) >= 0 {
		return substrat.Errorf(substrat.CodeConflict, "subscription %q cannot be made", x.Subscription.ID)
	}
	a.Subscriptions = append(a.Subscriptions, x.Subscription)
	f.watch(a.ID, x.Subscription.Target)
	return nil
}

func (x *SubscriptionEnded) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	if a.subscription(x.ID) < 0 {
		return substrat.Errorf(substrat.CodeNotFound, "no subscription %s", x.ID)
	}
	f.unsubscribe(a, x.ID)
	return nil
}

func (x *SubscriptionFired) fold(f *folding) error {
	if len(f.firings) > 0 {
		f.firings = f.firings[1:]
	}
	if a := f.Agents[x.Agent]; a != nil && x.Once {
		f.unsubscribe(a, x.ID)
	}
	return nil
}

func (a *Agent) subscription(id string) int {
	return slices.IndexFunc(a.Subscriptions, func(s Subscription) bool { return s.ID == id })
}

func (f *folding) unsubscribe(a *Agent, id string) {
	i := a.subscription(id)
	if i < 0 {
		return
	}
	target := a.Subscriptions[i].Target
	a.Subscriptions = slices.Delete(slices.Clone(a.Subscriptions), i, i+1)
	if len(a.Subscriptions) == 0 {
		a.Subscriptions = nil
	}
	f.unwatch(a.ID, target)
}

// watch keeps an eye on a target for a subscriber.
func (s *State) watch(subscriber, target string) {
	if !slices.Contains(s.watched[target], subscriber) {
		s.watched[target] = append(s.watched[target], subscriber)
	}
	if _, ok := s.seen[target]; !ok {
		s.seen[target] = s.look(s.Agents[target])
	}
}

// unwatch stops that, unless the subscriber has another subscription to the target.
func (s *State) unwatch(subscriber, target string) {
	if a := s.Agents[subscriber]; a != nil && slices.ContainsFunc(a.Subscriptions, func(x Subscription) bool { return x.Target == target }) {
		return
	}
	if s.watched[target] = remove(s.watched[target], subscriber); s.watched[target] == nil {
		delete(s.watched, target)
		delete(s.seen, target)
	}
}
