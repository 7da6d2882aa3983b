package top

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

var update = flag.Bool("update", false, "write the golden screens anew")

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return noon.Add(-d) }

// scene is a snapshot with something of everything.
func scene() Snapshot {
	agent := func(path string, state substrat.AgentState, pending, turns int, waits ...string) substrat.Agent {
		x := substrat.Agent{ID: "id-" + path, Path: path, Name: path[strings.LastIndex(path, "/")+1:], State: state, Pending: pending, Turns: turns,
			WaitingFor: waits, CreatedAt: before(90 * time.Minute), Role: substrat.Worker, Provider: "cursor", Dir: "/src/shop", Gated: state == substrat.Gated}
		if i := strings.LastIndex(path, "/"); i > 0 {
			x.Parent = path[:i]
		}
		return x
	}
	lead := agent("lead", substrat.Waiting, 2, 14, "lead/coder", substrat.User)
	lead.Model, lead.Sandbox = "gpt-5", substrat.NoSandbox
	lead.Budgets = []substrat.Budget{{Scope: substrat.ScopeSubtree, Period: substrat.PeriodDay, Turns: 200, CostMicros: 5e6}}
	lead.SpentBelow = &substrat.Spent{Turns: 31, WallMS: 754_000, Tokens: 812_345, CostMicros: 1_420_000}
	failed := agent("lead/reviewer", substrat.Failed, 0, 3)
	failed.LastError = "rate_limit: the provider refused: try again in 5 minutes"
	agents := []substrat.Agent{lead, agent("lead/coder", substrat.Busy, 1, 9), failed, agent("lead/coder/\x1b[31mtester\u202e", substrat.Idle, 0, 5),
		agent("docs", substrat.Gated, 12, 0)}
	for i := range 24 {
		agents = append(agents, agent(fmt.Sprintf("lead/coder/w%d", i), substrat.Idle, 0, i))
	}
	sortTree(agents)
	ended, minute := before(30*time.Second), before(time.Minute)
	deadline := noon.Add(time.Hour)
	return Snapshot{
		Data: Data{
			At:     noon,
			Status: client.Status{Version: "1.2.3", Slots: 4, Turns: 1, StartedAt: before(3 * time.Hour)},
			Agents: agents,
			Items: []substrat.Item{
				{ID: "i1", Kind: substrat.ItemQuestion, State: substrat.ItemOpen, Agent: "lead", Text: "Which colour\nshould the button have?", CreatedAt: minute,
					Options: []string{"red", "green", "blue, as on the other pages"}, Free: true, Deadline: &deadline, Default: "red"},
				{ID: "i2", Kind: substrat.ItemPermission, State: substrat.ItemOpen, Agent: "lead/coder", Text: "wants to push", CreatedAt: minute, Tool: "Bash",
					Input: json.RawMessage(`{"command":"git push"}`), Options: []string{"allow", "deny"}},
				{ID: "i3", Kind: substrat.ItemQuestion, State: substrat.ItemOpen, Agent: "docs", Text: "Which words?", CreatedAt: minute},
			},
			Detail: &Detail{ID: "id-lead",
				Why: substrat.Why{Reasons: []substrat.Reason{
					{Kind: substrat.WaitsReply, Text: "a reply of lead/coder", On: "lead/coder", Since: &minute},
					{Kind: substrat.WaitsQuestion, Text: "a person's answer: Which colour should the button have?", Since: &minute, Until: &deadline},
				}, WaitedOnBy: []string{"docs"}, Next: []substrat.Message{{Kind: substrat.KindNotification, From: "lead/coder", Text: "The test passes.", CreatedAt: minute}}},
				Turns: []substrat.Turn{
					{Number: 13, Outcome: substrat.FailedTurn, Class: substrat.ClassNetwork, Detail: "the connection was cut", StartedAt: before(3 * time.Minute), EndedAt: &minute},
					{Number: 14, Outcome: substrat.Completed, StartedAt: minute, EndedAt: &ended, Text: "I asked the coder to mend the test and the person for the colour.\nNothing else is left."},
				}},
		},
		selected: "id-lead", item: "i1", width: 80, height: 24,
	}
}

func keys(s Snapshot, list ...string) Snapshot {
	for _, k := range list {
		s = press(s, k)
	}
	return s
}

// press types a key; one character is its own text, as on a keyboard.
func press(s Snapshot, k string) Snapshot {
	s, _ = act(s, k)
	return s
}

func act(s Snapshot, k string) (Snapshot, action) {
	text := ""
	if len([]rune(k)) == 1 {
		text = k
	}
	return s.press(k, text)
}

func TestScreens(t *testing.T) {
	log := scene()
	log.log, log.logOf = []string{"── turn 14, 2030-05-01 11:59:00", "» user from USER", "  Mend the test.", "• Bash go test ./... [failed: exit 1]",
		"  It is mended. " + strings.Repeat("And so on. ", 30), "── completed"}, "id-lead"
	away := scene()
	away = away.receive(Data{At: noon.Add(time.Minute), Away: true})
	filtered := keys(scene(), "/", "t", "e", "s")
	for name, s := range map[string]Snapshot{
		"main": scene(), "bare": keys(scene(), "enter", "end"), "queue": keys(scene(), "u", "down"), "item": keys(scene(), "u", "enter", "2"),
		"permission": keys(scene(), "u", "j", "enter"), "log": keys(log, "l"), "help": keys(scene(), "?"), "away": away, "empty": {Data: Data{At: noon}},
		"connecting": {}, "message": keys(scene(), "m", "H", "i"), "filter": filtered, "confirm": keys(scene(), "x"), "typing": keys(scene(), "u", "enter", "o", "k"),
	} {
		for _, size := range [][2]int{{80, 24}, {200, 50}} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				s.width, s.height = size[0], size[1]
				golden(t, fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]), screenText(View(s, size[0], size[1])))
			})
		}
	}
}

// screenText is a screen without looks and without the spaces at the ends of lines.
func screenText(screen string) string {
	var b strings.Builder
	for l := range strings.SplitSeq(ansi.Strip(screen), "\n") {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the screen is not that of %s; -update writes it anew:\n%s", file, got)
	}
}

// TestAnyScreen: whatever agents are called and say, whatever was pressed, and however small the terminal is, the screen is
// h lines of w columns, and no escape sequence but those of looks is in it.
func TestAnyScreen(t *testing.T) {
	words := hostile()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(what string) string { return words.Draw(t, what) }
		s := Snapshot{Data: Data{At: noon, Status: client.Status{Version: draw("version"), StartedAt: noon}, Problem: draw("problem")}}
		for i := range rapid.IntRange(0, 12).Draw(t, "agents") {
			path := strings.Repeat("a/", rapid.IntRange(0, 30).Draw(t, "depth")) + draw("name")
			s.Agents = append(s.Agents, substrat.Agent{ID: fmt.Sprint(i), Path: path, Name: draw("name"), State: substrat.AgentState(draw("state")),
				WaitingFor: []string{draw("waits")}, LastError: draw("error"), Pending: i * 100_000, Turns: i * 1_000_000, Model: draw("model"), Dir: draw("dir")})
			s.Items = append(s.Items, substrat.Item{ID: fmt.Sprint(i), Kind: substrat.ItemKind(draw("kind")), Agent: draw("agent"), Text: draw("text"),
				Options: []string{draw("option"), draw("option")}, Free: true, Default: draw("default"), Deadline: &noon})
		}
		sortTree(s.Agents)
		s.Detail = &Detail{ID: "0", Why: substrat.Why{Reasons: []substrat.Reason{{Text: draw("reason"), Since: &noon, Until: &noon}}, WaitedOnBy: []string{draw("by")},
			Next: []substrat.Message{{From: draw("from"), Text: draw("mail")}}}, Turns: []substrat.Turn{{Text: draw("turn"), EndedAt: &noon}, {Detail: draw("turn")}}}
		s = s.receive(s.Data)
		s.log = []string{draw("log"), draw("log")}
		w, h := rapid.IntRange(0, 220).Draw(t, "w"), rapid.IntRange(0, 60).Draw(t, "h")
		s.width, s.height = w, h
		for _, k := range rapid.SliceOfN(rapid.SampledFrom([]string{"j", "k", "u", "enter", "esc", "m", "s", "x", "y", "p", "g", "l", "/", "?", "q", "pgup", "pgdown", "end",
			"home", "tab", "space", "1", "2", "backspace", "ctrl+w", "日"}), 0, 12).Draw(t, "keys") {
			s = press(s, k)
		}
		s = s.paste(draw("paste"))
		checkScreen(t, View(s, w, h), w, h)
	})
}

func checkScreen(t *rapid.T, screen string, w, h int) {
	if w == 0 || h == 0 {
		return
	}
	lines := strings.Split(screen, "\n")
	if len(lines) != h {
		t.Fatalf("%d lines, not %d", len(lines), h)
	}
	for i, l := range lines {
		if got := max(ansi.StringWidth(l), ansi.StringWidthWc(l)); got > w {
			t.Fatalf("line %d is %d wide, more than %d: %q", i, got, w, l)
		}
		for _, part := range strings.Split(l, "\x1b")[1:] {
			if end := strings.IndexFunc(part[1:], func(r rune) bool { return (r < '0' || r > '9') && r != ';' }); part[0] != '[' || end < 0 || part[1+end] != 'm' {
				t.Fatalf("line %d has an escape sequence: %q", i, l)
			}
		}
	}
}
