package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

// memory is a host that keeps one team in memory: the real core without a journal.
type memory struct {
	mu    sync.Mutex
	s     *team.State
	ids   int
	final map[string]substrat.Message
	sent  map[string]int // texts of messages that were sent
	// forbid are tools that may not be called, and why.
	forbid map[string]error
	// done, if set, is called after a command was made durable and before it is answered.
	done func(ctx context.Context)
	// refused gets refusals, as long as somebody takes them.
	refused chan string
}

func newMemory() *memory {
	m := &memory{s: team.New("lead"), final: map[string]substrat.Message{}, sent: map[string]int{}, refused: make(chan string, 100)}
	m.must(team.Actor{}, team.Create{ID: "lead", Name: "lead", Provider: "sim", Dir: "/w", Sandbox: substrat.Bubblewrap})
	m.must(team.Actor{}, team.Create{ID: "coder", Name: "coder", Parent: "lead"})
	m.must(team.Actor{}, team.Send{ID: "go", To: "lead", Text: "go"})
	m.must(team.Actor{}, team.Start{Agent: "lead", Turn: "t1"})
	return m
}

func (m *memory) must(a team.Actor, c team.Command) {
	if _, err := m.Do(context.Background(), "lead", team.Meta{Actor: a}, c); err != nil {
		panic(err)
	}
}

func (m *memory) Do(ctx context.Context, _ string, meta team.Meta, c team.Command) (json.RawMessage, error) {
	answer, err := m.decide(meta, c)
	if m.done != nil {
		m.done(ctx)
	}
	return answer, err
}

func (m *memory) decide(meta team.Meta, c team.Command) (json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	meta.At, meta.Limits = time.Unix(1_800_000_000, 0).UTC(), team.DefaultLimits()
	entries, answer, err := team.Decide(m.s, meta, c)
	for _, e := range entries {
		if f, ok := e.Fact.(*team.MessageSent); ok {
			m.sent[f.Message.Text]++
		}
		retired, err := m.s.Apply(e)
		if err != nil {
			return nil, err
		}
		for _, r := range retired {
			if r.Message != nil {
				m.final[r.Message.ID] = *r.Message
			}
		}
	}
	return answer, err
}

func (m *memory) Look(_ context.Context, _ string, f func(*team.State) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return f(m.s)
}

func (m *memory) Message(_ context.Context, id string) (substrat.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.s.Messages[id]; x != nil {
		return x.Message, nil
	}
	if x, ok := m.final[id]; ok {
		return x, nil
	}
	return substrat.Message{}, substrat.Errorf(substrat.CodeNotFound, "no message")
}

func (m *memory) CheckProvider(name string) (substrat.Network, error) {
	if name == "sim" {
		return substrat.NetworkNone, nil
	}
	return "", substrat.Errorf(substrat.CodeInvalid, "cannot use provider %q: not known", name)
}

func (m *memory) NewID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids++
	return fmt.Sprintf("id-%04d", m.ids)
}

func (m *memory) times(text string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent[text]
}

// Admit lets everything through that no test forbids.
func (m *memory) Admit(_ context.Context, _ Caller, _, tool string, _ json.RawMessage) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return "", m.forbid[tool]
}

// PlaceWorkspace puts workspaces below a directory that is never made.
func (m *memory) PlaceWorkspace(_ context.Context, _ Caller, worktree bool, cmd *team.CreateWorkspace) error {
	cmd.Dir, cmd.Made = "/workspaces/"+cmd.ID, true
	if worktree {
		cmd.Tree = &team.Tree{Repo: "/w", Branch: "substrat/" + cmd.Name}
	}
	return nil
}

// Refused notes a refusal, as the engine does, and tells whoever waits for one.
func (m *memory) Refused(_ context.Context, c Caller, why string) {
	if _, err := m.decide(team.Meta{}, team.NoteRefusal{Agent: c.Agent, Turn: c.Turn, Why: why}); err != nil {
		panic(err)
	}
	select {
	case m.refused <- why:
	default:
	}
}
