package sim

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		args           string
		stdout, stderr string
		code           int
	}{
		{"ls", "", "Raw mode is not supported", 1},
		{"status", "Logged in as", "", 0},
		{"whoami", "Logged in as", "", 0},
		{"models", "Available models\n\nauto - Auto (default) (current)\n", "", 0},
		{"login", "no account", "", 0},
		{"logout", "no account", "", 0},
		{"help", "Usage: agent", "", 0},
		{"about", "cliVersion", "", 0},
		{"mcp", "", "Usage: agent mcp", 1},
		{"update", "", "does not play", 1},
		{"-pf agent say this", `You asked: "say this".`, "", 0},
		{"-pf resume say this", `You asked: "say this".`, "", 0},
	} {
		out := newBox(t).run(strings.Fields(c.args)...)
		if out.code != c.code || !strings.Contains(out.stdout, c.stdout) || !strings.Contains(out.stderr, c.stderr) {
			t.Errorf("%s: %+v", c.args, out)
		}
	}
}

func TestStatusAndAboutAsJSON(t *testing.T) {
	b := newBox(t)
	var status struct {
		Status          string
		IsAuthenticated bool
		UserInfo        struct{ Email string }
	}
	if out := b.run("status", "--format", "json"); json.Unmarshal([]byte(out.stdout), &status) != nil || !status.IsAuthenticated || status.UserInfo.Email == "" {
		t.Errorf("status %+v", out)
	}
	var about struct{ CLIVersion, Model string }
	if out := b.run("about", "--format", "json"); json.Unmarshal([]byte(out.stdout), &about) != nil || about.CLIVersion != version || about.Model != "Auto" {
		t.Errorf("about %+v", out)
	}
}

func TestOutputFormats(t *testing.T) {
	b := newBox(t)
	script := `<<SCRIPT [{"text":"before"},{"shell":"true"},{"text":"after"}] SCRIPT>>`
	if out := b.run("-pf", script); out.stdout != "after\n" {
		t.Errorf("text: %+v", out)
	}
	out := b.run("-pf", "--output-format", "json", script)
	if events := parseEvents(t, out.stdout); len(events) != 1 || finalText(t, events) != "beforeafter" {
		t.Errorf("json: %+v", out)
	}
}
