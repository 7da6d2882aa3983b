package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// turn is one prompt being answered.
type turn struct {
	*app
	*stream
	memory
	draft
	session string
	choice  *choice
	asked   string // the whole prompt
	store   *store
	todos   []todo
	servers *mcpServers
	shells  []*shellRun

	acted, failed int
	spoke         bool // the last step was text; pauses and faults do not count
	hang          bool // after the result
	chunk         time.Duration
}

func newTurn(a *app, session string, chosen *choice, prompt, plain string) *turn {
	return &turn{
		app: a, stream: newStream(a.stdout, a.opts.format, a.opts.partial, session),
		memory:  memory{prompt: plain, messageID: messageID(plain)},
		session: session, choice: chosen, asked: prompt,
	}
}

// run plays the turn. Whatever way it ends, the chat holds what happened and nothing is left running.
func (t *turn) run(ctx context.Context, scripts []script) (err error) {
	defer func() { err = errors.Join(err, t.cleanUp()) }()
	if err := t.begin(); err != nil {
		return err
	}
	if err := t.play(ctx, scripts); err != nil {
		return err
	}
	t.sealText()
	if err := t.stream.result(t.opts.format, len(t.asked)); err != nil {
		return err
	}
	if t.hang {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

// begin writes the first lines before it opens the store: a host waits for the lines.
func (t *turn) begin() error {
	if err := t.stream.init(t.keySource(), string(t.space), t.choice.model.name); err != nil {
		return err
	}
	if err := t.stream.user(t.asked); err != nil {
		return err
	}
	mode := t.opts.mode
	if mode == "" {
		mode = "default"
	}
	c := t.conf.chat(t.space, t.session)
	store, err := openStore(c, mode, t.choice.model.slug)
	if err != nil {
		return err
	}
	t.store = store
	if err := c.touch(true, excerpt(t.prompt, 60)); err != nil {
		return err
	}
	var opening [][]byte
	if len(store.messages) == 0 {
		opening = openingMessages(t.space)
	}
	return store.commit(append(opening, userMessage(t.asked, time.Now()))...)
}

func (t *turn) play(ctx context.Context, scripts []script) error {
	if len(scripts) == 0 {
		return t.answer(ctx)
	}
	for i, s := range scripts {
		if s.err != nil {
			text := fmt.Sprintf("I cannot follow script %d of the prompt: %v.", i+1, s.err)
			if err := t.say(ctx, text); err != nil {
				return err
			}
			continue
		}
		for _, st := range s.steps {
			if err := t.step(ctx, st); err != nil {
				return err
			}
		}
	}
	if t.spoke {
		return nil
	}
	return t.say(ctx, t.summary())
}

func (t *turn) summary() string {
	text := fmt.Sprintf("Done: %d steps", t.acted)
	if t.acted == 1 {
		text = "Done: 1 step"
	}
	if t.failed > 0 {
		text += fmt.Sprintf(", %d failed", t.failed)
	}
	return text + "."
}

// answer is what the simulator says to a prompt that has no script.
func (t *turn) answer(ctx context.Context) error {
	earlier := t.store.queries(ctx)
	earlier = earlier[:max(len(earlier)-1, 0)] // the last one is this prompt
	if err := t.think(ctx, "There is no script in this prompt, so I say what I was asked."); err != nil {
		return err
	}
	text := fmt.Sprintf("You asked: %q. I am a simulated agent, so I only repeat it.", excerpt(t.prompt, 160))
	switch n := len(earlier); n {
	case 0:
	case 1:
		text += fmt.Sprintf(" There is 1 earlier message in this chat: %q.", excerpt(withoutScripts(earlier[0]), 80))
	default:
		text += fmt.Sprintf(" There are %d earlier messages in this chat, the latest: %q.", n, excerpt(withoutScripts(earlier[n-1]), 80))
	}
	return t.say(ctx, text)
}

func withoutScripts(prompt string) string {
	plain, _, _ := cutScripts(prompt)
	return strings.TrimSpace(plain)
}

// excerpt gives the beginning of a text on one line.
func excerpt(text string, limit int) string {
	words := []rune(strings.Join(strings.Fields(text[:min(len(text), 16*limit)]), " "))
	if len(words) > limit {
		return string(words[:limit]) + "…"
	}
	return string(words)
}

// cleanUp stores what happened and ends what the turn started.
func (t *turn) cleanUp() error {
	var errs []error
	for _, run := range t.shells {
		run.kill()
	}
	if t.servers != nil {
		t.servers.close()
	}
	if t.store != nil {
		if t.segment.Len() > 0 {
			t.draft.text(t.segment.String())
		}
		t.draft.seal()
		if len(t.draft.list) > 0 {
			errs = append(errs, t.store.commit(t.draft.list...))
		}
		errs = append(errs, t.store.close())
	}
	return errors.Join(errs...)
}
