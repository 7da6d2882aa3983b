package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/team"
)

// The choices of a person about a permission or a plan, whatever the CLI calls them.
const (
	choiceAllow  = "allow"
	choiceAlways = team.Always
	choiceDeny   = "deny"
	choiceAccept = "accept"
	choiceReject = "reject"
)

// ask decides what a live agent asks in its turn: a policy's word where there is one, else a person's. While a person is
// asked, the turn's limits of time stand still.
func (l *liveRun) ask(ctx context.Context, q agentcli.Question) (agentcli.Answer, error) {
	if q.Kind == agentcli.AskPermission {
		switch r := l.ruling(q); r.Effect {
		case Deny:
			a, _ := q.Choose(agentcli.RejectOnce, agentcli.RejectAlways)
			a.Text = r.Rule + " does not allow it. " + r.Reason
			return a, nil
		case Asks:
			if l.approved(ctx, q) {
				a, _ := q.Choose(agentcli.AllowOnce, agentcli.AllowAlways)
				return a, nil
			}
		default:
			a, _ := q.Choose(agentcli.AllowOnce, agentcli.AllowAlways)
			return a, nil
		}
	}
	l.asking.begin(time.Now())
	defer func() { l.asking.end(time.Now()) }()
	answer := agentcli.Answer{ID: q.ID, Outcome: agentcli.Skipped, Choices: map[string][]string{}}
	items := make([]string, len(q.Prompts))
	for i, p := range q.Prompts {
		var err error
		if items[i], err = l.putBefore(ctx, q, p); err != nil {
			return answer, err
		}
	}
	for i, p := range q.Prompts {
		x, err := l.r.e.awaitItem(ctx, items[i])
		if err != nil {
			return answer, err
		}
		take(&answer, q, p, x)
	}
	return answer, nil
}

// ruling is the strictest word of the policies on what the agent wants to do. Substrat's own tools have rules of their own,
// which are asked when they are called.
func (l *liveRun) ruling(q agentcli.Question) Ruling {
	call := Call{Path: l.a.path, Role: l.a.agent.Role}
	if q.Tool == nil {
		return l.r.e.cfg.Rules.Policy(call)
	}
	call.Tool = q.Tool.Name
	if q.Tool.Server == "substrat" {
		return Ruling{Effect: Allow}
	}
	if q.Tool.Kind == "execute" {
		call.Command = commandOf(q.Tool)
	}
	strictest := l.r.e.cfg.Rules.Policy(call)
	for _, path := range q.Tool.Paths {
		call.File = path
		if r := l.r.e.cfg.Rules.Policy(call); r.Effect == Deny || strictest.Effect == Allow {
			strictest = r
		}
	}
	return strictest
}

// commandOf finds the command that a tool would run: as the CLI gave it, else its title. Words that make a shell run a script are
// that script: rules are about what is run, whichever way a CLI goes to run it.
func commandOf(t *agentcli.ToolCall) string {
	var in struct{ Command json.RawMessage }
	var text string
	var words []string
	if json.Unmarshal(t.Input, &in) == nil {
		if json.Unmarshal(in.Command, &text) == nil {
			return text
		}
		if json.Unmarshal(in.Command, &words) == nil {
			if len(words) == 3 && shells[filepath.Base(words[0])] && (words[1] == "-c" || words[1] == "-lc") {
				return words[2]
			}
			return strings.Join(words, " ")
		}
	}
	return strings.Trim(t.Title, "`")
}

var shells = map[string]bool{"sh": true, "bash": true, "zsh": true, "dash": true}

// putBefore puts one prompt of a question into the person's queue, unless it is or was there.
func (l *liveRun) putBefore(ctx context.Context, q agentcli.Question, p agentcli.QuestionPrompt) (string, error) {
	c := team.AskInTurn{ID: askID(l.r.turn, q.ID, p.ID), Text: p.Prompt, Multiple: p.Multiple}
	switch q.Kind {
	case agentcli.AskPermission:
		c.Kind, c.Options, c.Default = substrat.ItemPermission, []string{choiceAllow, choiceDeny}, choiceDeny
		if _, ok := q.Choose(agentcli.AllowAlways); ok {
			c.Options, c.Content = []string{choiceAllow, choiceAlways, choiceDeny}, contentOf(q)
		}
		what := q.Title
		if q.Tool != nil {
			c.Tool, c.Input = q.Tool.Name, q.Tool.Input
			what = strings.TrimSpace(q.Tool.Name + " " + q.Tool.Title)
			// A title says what its CLI likes; what is approved is the command.
			if cmd := commandOf(q.Tool); q.Tool.Kind == "execute" && !strings.Contains(q.Tool.Title, cmd) {
				what += ": " + cmd
			}
		}
		c.Text = fmt.Sprintf("%s wants to use %s", l.a.path, clip(what, 2000))
	case agentcli.AskPlan:
		c.Kind, c.Options, c.Free = substrat.ItemPlan, []string{choiceAccept, choiceReject}, true
		c.Text = strings.TrimSpace(q.Title + "\n\n" + q.Text)
	default:
		c.Kind = substrat.ItemQuestion
		if q.Title != "" && q.Title != p.Prompt {
			c.Text = q.Title + ": " + p.Prompt
		}
		for _, o := range p.Options {
			c.Options = append(c.Options, labelOf(p, o))
		}
	}
	if strings.TrimSpace(c.Text) == "" {
		c.Text = "(it asks without a text)"
	}
	if x, err := l.r.e.Item(ctx, c.ID); err == nil {
		return x.ID, nil // it was asked before the daemon was started anew
	}
	meta := team.Meta{Actor: team.Actor{Agent: l.r.agent, Turn: l.r.turn}}
	_, err := l.r.e.Do(ctx, l.r.team, meta, c)
	return c.ID, err
}

// contentOf is the sum of everything that a permission is asked for. What differs in a byte is another content.
func contentOf(q agentcli.Question) string {
	what := struct {
		Title, Text string
		Tool        *agentcli.ToolCall
	}{q.Title, q.Text, nil}
	if q.Tool != nil {
		t := *q.Tool
		t.ID, t.Status, t.Output, t.Error, t.ExitCode = "", "", "", "", nil
		what.Tool = &t
	}
	data, err := json.Marshal(what)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// approved reports whether a person approved just this for good.
func (l *liveRun) approved(ctx context.Context, q agentcli.Question) (yes bool) {
	content := contentOf(q)
	_ = l.r.e.Look(ctx, l.r.team, func(s *team.State) error {
		yes = s.Approved(l.r.agent, content)
		return nil
	})
	return yes
}

// askID names a prompt of a question in a turn, always the same.
func askID(turn, question, prompt string) string {
	sum := sha256.Sum256([]byte(turn + "\x00" + question + "\x00" + prompt))
	return turn[:min(len(turn), 24)] + hex.EncodeToString(sum[:6])
}

// labelOf is what a person chooses an option by: its label, with its id where another has the same.
func labelOf(p agentcli.QuestionPrompt, o agentcli.Option) string {
	label := clip(strings.Join(strings.Fields(o.Label), " "), 300)
	same := 0
	for _, x := range p.Options {
		if clip(strings.Join(strings.Fields(x.Label), " "), 300) == label {
			same++
		}
	}
	if label == "" || same > 1 {
		return strings.TrimSpace(label + " [" + o.ID + "]")
	}
	return label
}

// take enters what became of an item into the answer.
func take(answer *agentcli.Answer, q agentcli.Question, p agentcli.QuestionPrompt, x substrat.Item) {
	if x.Answer == nil {
		if x.State == substrat.ItemWithdrawn && answer.Outcome != agentcli.Answered {
			answer.Outcome = agentcli.Withdrawn
		}
		return
	}
	if x.Answer.Text != "" {
		answer.Text = strings.TrimSpace(answer.Text + "\n" + x.Answer.Text)
		answer.Outcome = agentcli.Answered
	}
	kinds := map[string][]agentcli.OptionKind{
		choiceAllow: {agentcli.AllowOnce, agentcli.AllowAlways},
		// What the CLI would take "always" for is its own affair, and may be any command of the name: we remember it ourselves.
		choiceAlways: {agentcli.AllowOnce, agentcli.AllowAlways},
		choiceAccept: {agentcli.AllowOnce, agentcli.AllowAlways},
		choiceDeny:   {agentcli.RejectOnce, agentcli.RejectAlways},
		choiceReject: {agentcli.RejectOnce, agentcli.RejectAlways},
	}
	if q.Kind == agentcli.AskPermission || q.Kind == agentcli.AskPlan {
		if len(x.Answer.Choices) > 0 {
			if a, ok := q.Choose(kinds[x.Answer.Choices[0]]...); ok {
				answer.Outcome, answer.Choices = a.Outcome, a.Choices
			}
		}
		return
	}
	for _, o := range p.Options {
		if slices.Contains(x.Answer.Choices, labelOf(p, o)) {
			answer.Choices[p.ID] = append(answer.Choices[p.ID], o.ID)
			answer.Outcome = agentcli.Answered
		}
	}
}

// awaitItem waits until an item is closed.
func (e *Engine) awaitItem(ctx context.Context, id string) (substrat.Item, error) {
	for {
		changed := e.changedNow()
		x, err := e.Item(ctx, id)
		if err != nil || x.State != substrat.ItemOpen {
			return x, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return x, ctx.Err()
		}
	}
}
