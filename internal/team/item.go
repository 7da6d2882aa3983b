package team

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Item is one open entry of the person's queue. Those that are closed have left the hot state.
type Item struct {
	substrat.Item
	// Account is what a login is for; Budget the number of the budget on the agent that is used up.
	Account string `json:"account,omitempty"`
	Budget  int    `json:"budget,omitempty"`
	// Waits says that the agent's process waits for the answer in its open turn.
	Waits bool `json:"waits,omitempty"`
	// Content is the sum of all that a permission is for, where that may be approved for good.
	Content string `json:"content,omitempty"`
}

// Ask puts a question of the calling agent into the person's queue. The answer is the agent's next message.
type Ask struct {
	ID       string
	Question string
	Options  []string
	Multiple bool
	// Default is the answer that is taken at the deadline; Within how long that is, 0 the team's limit.
	Default string
	Within  time.Duration
}

// Asked answers Ask.
type Asked struct {
	Status     string `json:"status"` // "asked"
	QuestionID string `json:"question_id"`
}

// AnswerItem is a person's word on an open item.
type AnswerItem struct {
	ID     string
	Answer substrat.Answer
}

// What a question may hold.
const (
	optionsMost     = 20
	optionBytesMost = 500
)

func (c Ask) decide(d *decision) (any, error) {
	a, err := d.caller()
	if err != nil {
		return nil, err
	}
	if err := d.checkText(c.Question); err != nil {
		return nil, err
	}
	if c.ID == "" || d.Items[c.ID] != nil {
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot ask: the question's id is in use")
	}
	if err := d.checkOptions(c); err != nil {
		return nil, err
	}
	if n := len(d.openItems(a.ID, substrat.ItemQuestion)); n >= d.Limits.Questions {
		return nil, substrat.Errorf(substrat.CodeLimit, "cannot ask: %d of your questions are not answered, which is the limit", n).
			WithHint("end your turn and wait for the answers")
	}
	within := d.Limits.AskDeadline
	if c.Within > 0 {
		within = min(within, c.Within)
	}
	d.open(a, Item{Item: substrat.Item{
		ID: c.ID, Kind: substrat.ItemQuestion, Text: c.Question, Options: c.Options, Multiple: c.Multiple, Free: len(c.Options) == 0,
		Default: c.Default, Deadline: ptr(d.At.Add(within)),
	}})
	return Asked{"asked", c.ID}, nil
}

func (d *decision) checkOptions(c Ask) error {
	if len(c.Options) > optionsMost {
		return substrat.Errorf(substrat.CodeInvalid, "cannot ask with %d options: at most %d are allowed", len(c.Options), optionsMost)
	}
	for i, o := range c.Options {
		if strings.TrimSpace(o) == "" || len(o) > optionBytesMost || clean(o) != o || slices.Contains(c.Options[:i], o) {
			return substrat.Errorf(substrat.CodeInvalid, "cannot offer the option %.80q: it is empty, too long, there twice or not UTF-8", o)
		}
	}
	if c.Default != "" && len(c.Options) > 0 && !slices.Contains(c.Options, c.Default) {
		return substrat.Errorf(substrat.CodeInvalid, "cannot take %.80q as the default: it is none of the options", c.Default)
	}
	if clean(c.Default) != c.Default || len(c.Default) > d.Limits.TextBytes {
		return substrat.Errorf(substrat.CodeInvalid, "cannot take the default: it is too long or not UTF-8")
	}
	return nil
}

// open adds an item about an agent to the queue.
func (d *decision) open(a *Agent, x Item) {
	x.Team, x.Agent, x.AgentID = d.Team, d.Path(a.ID), a.ID
	if x.Turn == "" && a.Turn != nil {
		x.Turn = a.Turn.ID
	}
	d.add(&ItemOpened{Item: x})
}

// openItems lists an agent's open items of a kind, by id.
func (s *State) openItems(agent string, kind substrat.ItemKind) []*Item {
	var out []*Item
	for id := range s.items[agent] {
		if x := s.Items[id]; x.Kind == kind {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b *Item) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID)) })
	return out
}

func (c AnswerItem) decide(d *decision) (any, error) {
	x := d.Items[c.ID]
	if x == nil {
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot answer %.80s: it is not open", c.ID).WithHint("substrat queue shows what is")
	}
	if d.Actor.Agent != "" {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot answer %s: only a person may", c.ID)
	}
	if err := d.checkAnswer(x, c.Answer); err != nil {
		return nil, err
	}
	answer := c.Answer
	closed := &ItemClosed{ID: x.ID, State: substrat.ItemAnswered, Answer: &answer, By: d.actorName(d.Actor)}
	d.add(closed)
	d.carryOut(x, answer, closed.By)
	return Status{"answered"}, nil
}

// checkAnswer refuses an answer that is none of those the item takes.
func (d *decision) checkAnswer(x *Item, a substrat.Answer) error {
	wrong := func(format string, args ...any) error {
		return substrat.Errorf(substrat.CodeInvalid, "cannot answer %s: "+format, append([]any{x.ID}, args...)...).WithHint("%s", x.takes())
	}
	for i, choice := range a.Choices {
		if !slices.Contains(x.Options, choice) || slices.Contains(a.Choices[:i], choice) {
			return wrong("%.80q is none of its options, or is there twice", choice)
		}
	}
	hasText := strings.TrimSpace(a.Text) != ""
	switch {
	case len(a.Choices) > 1 && !x.Multiple:
		return wrong("it takes one choice")
	case len(a.Choices) == 0 && !hasText:
		return wrong("there is no answer")
	case len(a.Choices) == 0 && !x.Free:
		return wrong("it takes a choice")
	case clean(a.Text) != a.Text:
		return wrong("the text is not UTF-8")
	case len(a.Text) > d.Limits.TextBytes:
		return substrat.Errorf(substrat.CodeTooLarge, "cannot answer %s: the text is over %d bytes", x.ID, d.Limits.TextBytes)
	}
	return nil
}

// takes says what an item can be answered with.
func (x *Item) takes() string {
	if len(x.Options) == 0 {
		return "it takes a text"
	}
	text := "it takes one of: "
	if x.Multiple {
		text = "it takes any of: "
	}
	return text + strings.Join(x.Options, ", ")
}

// carryOut does what an answer means.
func (d *decision) carryOut(x *Item, answer substrat.Answer, by string) {
	if x.Waits {
		d.approve(x, answer)
		return
	}
	a := d.Agents[x.AgentID]
	chosen := ""
	if len(answer.Choices) > 0 {
		chosen = answer.Choices[0]
	}
	switch x.Kind {
	case substrat.ItemMessage:
		d.decideHeld(x, chosen, answer.Text, by)
	case substrat.ItemBudget:
		if chosen == "extend" {
			d.add(&BudgetExtended{Agent: a.ID, Budget: x.Budget, Day: day(d.At)})
		}
	case substrat.ItemFailure:
		if chosen == "retry" {
			d.poke(a, x.ID)
		}
	case substrat.ItemLogin:
		if chosen == "resume" {
			d.add(&AccountReleased{Account: x.Account})
		}
	case substrat.ItemPermission:
		if chosen == "allow" {
			d.add(&PermissionGranted{Agent: a.ID, Item: x.ID, Tool: x.Tool, Input: x.Input})
		}
		d.tellAnswer(a, x, answer, by)
	default:
		d.tellAnswer(a, x, answer, by)
	}
}

// tellAnswer makes an answer the agent's next message.
func (d *decision) tellAnswer(a *Agent, x *Item, answer substrat.Answer, by string) {
	text := strings.Join(answer.Choices, ", ")
	if t := strings.TrimSpace(answer.Text); t != "" && text != "" {
		text += "\n" + t
	} else if t != "" {
		text = t
	}
	what := "your question"
	if x.Kind == substrat.ItemPermission {
		what = fmt.Sprintf("whether you may call %s", x.Tool)
		if text == "allow" {
			text = "allow\nYou may call it once, with the same arguments."
		}
	}
	d.send(Message{ToID: a.ID, Message: substrat.Message{
		ID: derive(x.ID, "answer"), Team: d.Team, From: by, To: d.Path(a.ID), Kind: substrat.KindAnswer, Item: x.ID,
		Text: fmt.Sprintf("%s\n\n[answer to %s %s: %s]", text, what, x.ID, clip(strings.Join(strings.Fields(x.Text), " "), 200)),
	}})
}

// expireItems takes the defaults of what nobody answered in time.
func (d *decision) expireItems() {
	for _, id := range d.dueItems(d.At) {
		x := d.Items[id]
		closed := &ItemClosed{ID: id, State: substrat.ItemExpired, By: substrat.System}
		a := d.Agents[x.AgentID]
		if x.Default != "" {
			closed.Answer = x.defaultAnswer()
			d.add(closed)
			d.carryOut(x, *closed.Answer, substrat.System)
			continue
		}
		d.add(closed)
		if x.Waits {
			continue
		}
		d.notice(a, derive(id, "expired"), "", fmt.Sprintf("Nobody answered %s %s in time: %s", x.Kind, id, clip(x.Text, 200)), 1)
	}
}

func (x *Item) defaultAnswer() *substrat.Answer {
	if slices.Contains(x.Options, x.Default) {
		return &substrat.Answer{Choices: []string{x.Default}}
	}
	return &substrat.Answer{Text: x.Default}
}

// dueItems lists the open items whose deadline has passed, in order of their deadlines.
func (s *State) dueItems(now time.Time) []string {
	var due []*Item
	for _, x := range s.Items {
		if x.Deadline != nil && !now.Before(*x.Deadline) {
			due = append(due, x)
		}
	}
	slices.SortFunc(due, func(a, b *Item) int { return cmp.Or(a.Deadline.Compare(*b.Deadline), strings.Compare(a.ID, b.ID)) })
	ids := make([]string, len(due))
	for i, x := range due {
		ids[i] = x.ID
	}
	return ids
}

// ItemOpened means: something needs a person.
type ItemOpened struct {
	Item Item `json:"item"`
}

// ItemClosed means: it does not any more. Answer is what was decided, by a person or by the item's default.
type ItemClosed struct {
	ID     string             `json:"id"`
	State  substrat.ItemState `json:"state"`
	Answer *substrat.Answer   `json:"answer,omitempty"`
	By     string             `json:"by,omitempty"`
}

// Type implements Fact.
func (*ItemOpened) Type() string { return "item.opened" }

// Type implements Fact.
func (*ItemClosed) Type() string { return "item.closed" }

func (f *ItemOpened) fold(s *folding) error {
	x := f.Item
	if _, err := s.agent(x.AgentID); err != nil {
		return err
	}
	if x.ID == "" || s.Items[x.ID] != nil {
		return substrat.Errorf(substrat.CodeConflict, "item %q exists", x.ID)
	}
	x.State, x.CreatedAt = substrat.ItemOpen, s.at
	s.Items[x.ID] = &x
	s.enterItem(&x)
	s.mark(x.AgentID)
	return nil
}

func (f *ItemClosed) fold(s *folding) error {
	x := s.Items[f.ID]
	if x == nil {
		return substrat.Errorf(substrat.CodeNotFound, "no open item %s", f.ID)
	}
	s.closeItem(x, f.State, f.Answer, f.By)
	return nil
}

// closeItem lets an item leave the hot state.
func (f *folding) closeItem(x *Item, state substrat.ItemState, answer *substrat.Answer, by string) {
	x.State, x.Answer, x.By, x.ClosedAt = state, answer, by, ptr(f.at)
	delete(f.Items, x.ID)
	f.leaveItem(x)
	f.mark(x.AgentID)
	f.retired = append(f.retired, Retired{Item: &x.Item})
}

// withdraw closes what was open about an agent that has ended, or about one message.
func (f *folding) withdraw(keep func(*Item) bool) {
	var gone []*Item
	for _, x := range f.Items {
		if !keep(x) {
			gone = append(gone, x)
		}
	}
	slices.SortFunc(gone, func(a, b *Item) int { return strings.Compare(a.ID, b.ID) })
	for _, x := range gone {
		f.closeItem(x, substrat.ItemWithdrawn, nil, substrat.System)
	}
}
