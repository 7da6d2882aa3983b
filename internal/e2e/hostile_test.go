package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"substrat.dev/substrat"
)

// nasty is what an agent would say to take over a terminal or to hide something from the person before it.
const nasty = "evil\x1b]52;c;ZXZpbA==\a\x1b[2J\x1b]0;title\x1b\\\u009b31m\u202erorre\u2066x\u2069\u200b\u200d\U000e0041\U000e0100\r\x7f\x1b[31m end"

// obeyed finds what a terminal obeys, or a person does not see, in an output.
func obeyed(out string) (found []rune) {
	for _, r := range out {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r >= 0xE0000 && r <= 0xE0FFF) {
			found = append(found, r)
		}
	}
	return found
}

// TestHostileText: T9, T19. Whatever an agent says, writes, asks, or names its files, no command shows it as a terminal would
// obey it; it is shown written out.
func TestHostileText(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	w.create(substrat.NewAgent{Name: "lead", Provider: "sim", Dir: w.space(), Instructions: nasty})
	asked := w.send("lead", nasty+script(
		step{"mcp": "ask_user", "args": step{"question": nasty, "options": []string{"yes " + nasty, "no"}}},
		step{"mcp": "send_message", "args": step{"recipient": "USER", "text": nasty, "sync": false}},
		step{"mcp": "send_message", "args": step{"recipient": nasty, "text": "x", "sync": false}},
		step{"mcp": "spawn_agent", "args": step{"name": nasty}},
		step{"mcp": "create_workspace", "args": step{"name": nasty}},
		step{"mcp": "set_agent_metadata", "args": step{"name": "lead", "key": "k", "value": nasty}},
		step{"mcp": "remind_me", "args": step{"after": "10h", "reason": nasty}},
		step{"write": "f" + strings.ReplaceAll(nasty, "/", "") + ".txt", "content": nasty},
		step{"shell": "printf %s '" + strings.ReplaceAll(nasty, "'", "") + "'; ls"},
		step{"text": nasty}))
	if r := w.wait(asked); r.Turn == nil || r.Turn.Outcome != substrat.Completed {
		t.Fatalf("the turn: %+v", r.Turn)
	}
	w.send("lead", script(step{"fault": "exit", "stderr": nasty}))
	var queue struct{ Items []substrat.Item }
	if err := w.get("/v1/queue", &queue); err != nil || len(queue.Items) == 0 {
		t.Fatalf("the queue: %+v, %v", queue, err)
	}
	seen := 0
	for _, args := range [][]string{
		{"log", "lead"}, {"log", "lead", "--full"}, {"log", "lead", "--json"}, {"events"}, {"events", "--json"}, {"queue"}, {"queue", "--json"},
		{"queue", "--all"}, {"answer", queue.Items[0].ID, nasty}, {"inbox"}, {"inbox", "--json"}, {"message", "ls"}, {"message", "show", asked}, {"message", "show", asked, "--json"},
		{"agent", "ls"}, {"agent", "ls", "--json"}, {"agent", "inspect", "lead"}, {"agent", "inspect", "lead", "--json"}, {"why", "lead"}, {"why", "lead", "--json"},
		{"graph"}, {"search", "evil"}, {"search", "evil", "--json"}, {"workspace", "ls"}, {"remind", "ls", "lead"}, {"budget", "show", "lead"},
		{"agent", "inspect", nasty}, {"send", nasty, "x"}, {"workspace", "show", nasty}, {"answer", nasty, "x"}, {nasty}, {"log", "--" + nasty},
		{"send", "lead", "again " + nasty + script(step{"text": nasty}), "--wait"},
		{"run", "--provider", "sim", "--force", nasty + script(step{"shell": "echo '" + strings.ReplaceAll(nasty, "'", "") + "'"}, step{"text": nasty})},
	} {
		out, _ := w.tryCLI(args...)
		if found := obeyed(out); len(found) > 0 {
			t.Errorf("substrat %q shows %U:\n%q", args, found, out)
		}
		if strings.Contains(out, `\u202e`) {
			seen++
		}
		if args[len(args)-1] == "--json" {
			for line := range strings.Lines(out) {
				if !json.Valid([]byte(line)) {
					t.Errorf("substrat %q prints no JSON: %.200q", args, line)
				}
			}
		}
	}
	if seen < 12 {
		t.Errorf("the text is seen written out in %d outputs only: the test looks at the wrong ones", seen)
	}
}
