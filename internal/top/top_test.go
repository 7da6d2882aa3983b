package top

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

var update = flag.Bool("update", false, "write the golden screens")

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func example() Snapshot {
	since, ended := at.Add(-90*time.Second), at.Add(-time.Minute)
	agents := []substrat.Agent{
		{Name: "lead", Path: "lead", State: substrat.Waiting, Turns: 3, WaitingFor: []string{"lead/coder"}},
		{Name: "coder", Path: "lead/coder", State: substrat.Busy, Turns: 1, Pending: 2},
		{Name: "critic", Path: "lead/critic", State: substrat.Failed, LastError: "protocol: no result"},
		{Name: "nightly", Path: "nightly", State: substrat.Gated, Pending: 1},
	}
	agents[0].Provider, agents[0].Role, agents[0].Sandbox, agents[0].Network = "sim", substrat.Manager, substrat.Bubblewrap, substrat.NetworkNone
	return Snapshot{
		At: at, Status: client.Status{Running: true, Slots: 4, Turns: 1}, Agents: agents,
		Queue: []substrat.Item{{
			ID: "q1", Kind: substrat.ItemQuestion, Agent: "lead", Text: "Red or blue?\nBoth are there.", Options: []string{"red", "blue"}, CreatedAt: at.Add(-time.Minute),
		}},
		Why: &substrat.Why{Agent: agents[0], Reasons: []substrat.Reason{{Kind: substrat.WaitsReply, Text: "a reply from lead/coder", Since: &since}}},
		Turns: []substrat.Turn{
			{Number: 2, Agent: "lead", Outcome: substrat.FailedTurn, StartedAt: since, EndedAt: &ended, Detail: "crashed: signal"},
			{Number: 3, Agent: "lead", Outcome: substrat.Completed, StartedAt: since, EndedAt: &ended, Text: "I asked the coder."},
		},
	}
}

func view(w, h int) *model {
	m := &model{ctx: context.Background(), w: w, h: h, snap: example()}
	m.keepCursor()
	return m
}

// checkScreen: no line is wider than the terminal, and there are as many as it is high.
func checkScreen(t interface{ Fatalf(string, ...any) }, m *model) {
	lines := strings.Split(m.render(), "\n")
	if m.h >= 6 && m.w >= 20 && len(lines) != m.h {
		t.Fatalf("%d lines on a terminal of %d", len(lines), m.h)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > m.w {
			t.Fatalf("a line is %d wide on a terminal of %d: %q", w, m.w, l)
		}
		if strings.ContainsFunc(ansi.Strip(l), func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }) {
			t.Fatalf("a control character is on the screen: %q", l)
		}
	}
}

func TestScreens(t *testing.T) {
	for name, s := range map[string]screen{"tree": treeScreen, "queue": queueScreen, "turns": turnsScreen, "help": helpScreen} {
		for _, size := range [][2]int{{80, 24}, {200, 50}} {
			m := view(size[0], size[1])
			m.screen = s
			checkScreen(t, m)
			path := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]))
			var got strings.Builder
			for l := range strings.SplitSeq(ansi.Strip(m.render()), "\n") {
				got.WriteString(strings.TrimRight(l, " ") + "\n")
			}
			if *update {
				if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("%s is now:\n%s", path, got.String())
			}
		}
	}
}

// TestAnythingFits: whatever agents are called and say, and however small the terminal is.
func TestAnythingFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := view(rapid.IntRange(0, 220).Draw(t, "w"), rapid.IntRange(0, 70).Draw(t, "h"))
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b[2J\x1b]0;evil\a", "日本語日本語", "👩‍👩‍👧‍👦", "a\u0301\u0302", "\u202eabc", strings.Repeat("x", 500), "\x9b31m", "a\tb\nc"}))
		m.snap.Agents = nil
		for range rapid.IntRange(0, 60).Draw(t, "agents") {
			a := substrat.Agent{Name: text.Draw(t, "name"), LastError: text.Draw(t, "error"), State: substrat.AgentState(text.Draw(t, "state"))}
			a.Path = rapid.SampledFrom([]string{"", "lead/", "lead/coder/"}).Draw(t, "parent") + a.Name
			m.snap.Agents = append(m.snap.Agents, a)
		}
		for i := range m.snap.Queue {
			m.snap.Queue[i].Text, m.snap.Queue[i].Agent, m.snap.Queue[i].Options = text.Draw(t, "text"), text.Draw(t, "agent"), rapid.SliceOfN(text, 0, 12).Draw(t, "options")
		}
		for i := range m.snap.Turns {
			m.snap.Turns[i].Text = text.Draw(t, "turn")
		}
		m.snap.Why.Reasons[0].Text, m.snap.Why.Agent.Path = text.Draw(t, "why"), m.selected
		if rapid.Bool().Draw(t, "away") {
			m.snap.Away = text.Draw(t, "away text")
		}
		m.filter, m.said, m.selected = rapid.SampledFrom([]string{"", "a"}).Draw(t, "filter"), text.Draw(t, "said"), text.Draw(t, "selected")
		m.screen, m.item, m.scroll = screen(rapid.IntRange(0, 3).Draw(t, "screen")), 0, rapid.IntRange(0, 1000).Draw(t, "scroll")
		if rapid.Bool().Draw(t, "asking") {
			m.ask = &ask{title: text.Draw(t, "title"), text: []rune(text.Draw(t, "typed"))}
		}
		checkScreen(t, m)
	})
}

// deeds is a daemon that notes what it is asked to do.
type deeds struct {
	Daemon
	did []string
}

func (d *deeds) note(format string, args ...any) error {
	d.did = append(d.did, fmt.Sprintf(format, args...))
	return nil
}

func (d *deeds) Send(_ context.Context, ref, text string) (substrat.Sent, error) {
	return substrat.Sent{}, d.note("send %s %s", ref, text)
}

func (d *deeds) AnswerItem(_ context.Context, id string, a substrat.Answer) (substrat.Item, error) {
	return substrat.Item{}, d.note("answer %s %v %s", id, a.Choices, a.Text)
}

func (d *deeds) StopTurn(_ context.Context, ref string) (substrat.Turn, error) {
	return substrat.Turn{}, d.note("stop %s", ref)
}

func (d *deeds) Terminate(_ context.Context, ref, _ string) error { return d.note("end %s", ref) }

func (d *deeds) Poke(_ context.Context, ref string) (string, error) {
	return "poked", d.note("poke %s", ref)
}

func (d *deeds) Gate(_ context.Context, ref string, down bool) (substrat.Agent, error) {
	return substrat.Agent{}, d.note("gate %s %v", ref, down)
}

func TestKeys(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"down s", "stop lead/coder"},
		{"m h i enter", "send lead hi"},
		{"m h i esc", ""},
		{"m x backspace h o enter", "send lead ho"},
		{"down down p", "poke lead/critic"},
		{"g", "gate lead true"},
		{"end g", "gate nightly false"},
		{"x n", ""},
		{"x y", "end lead"},
		{"u enter 2 enter", "answer q1 [blue] "},
		{"u enter 9 enter", ""},
		{"u q down s", "stop lead/coder"},
		{"/ n i g enter s", "stop nightly"},
		{"? q s", "stop lead"},
	} {
		m := view(80, 24)
		m.snap.Agents[3].Gated = true
		d := &deeds{}
		m.daemon, m.busy = d, true // no snapshots meanwhile
		for key := range strings.FieldsSeq(c.keys) {
			text := ""
			if len(key) == 1 {
				text = key
			}
			if cmd := m.press(key, text); cmd != nil {
				if msg, ok := cmd().(saidMsg); ok {
					m.said = msg.text
				}
			}
		}
		if got := strings.Join(d.did, "|"); got != c.want {
			t.Errorf("%s: %s, want %s", c.keys, got, c.want)
		}
		checkScreen(t, m)
	}
	m := view(80, 24)
	if cmd := m.press("q", "q"); cmd == nil || cmd() != tea.Quit() {
		t.Error("q does not quit")
	}
}

func TestAnswers(t *testing.T) {
	choice := substrat.Item{Options: []string{"release", "reject"}}
	for _, c := range []struct {
		item substrat.Item
		text string
		want string
	}{
		{substrat.Item{}, "blue, I think", "[] blue, I think"},
		{choice, "1", "[release] "},
		{choice, "reject too early", "[reject] too early"},
		{choice, "perhaps", "error"},
		{choice, "", "error"},
		{substrat.Item{Options: []string{"a", "b", "c"}, Multiple: true}, "1, 3", "[a c] "},
	} {
		a, err := answerOf(c.item, c.text)
		got := fmt.Sprintf("%v %s", a.Choices, a.Text)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}
