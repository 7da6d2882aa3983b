package agentcli_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// mute is a CLI that fails without a word, and whose other command says why.
type mute struct {
	shell
	cause string // what that command does
	// class is what a look at it comes to.
	class substrat.FailureClass
	asked *int
}

func (m mute) Diagnose(agentcli.Request, agentcli.Result, agentcli.Exit) (substrat.FailureClass, string) {
	return substrat.ClassAgent, "nobody knows"
}

func (m mute) Explain(ctx context.Context, run agentcli.Runner, req agentcli.Request) (substrat.FailureClass, string) {
	*m.asked++
	exit, err := run(ctx, req.Dir, agentcli.Command{Argv: []string{"/bin/sh", "-c", m.cause}, Env: map[string]string{"WHAT": "cause"}})
	if err != nil {
		return substrat.ClassNotInstalled, err.Error()
	}
	return m.class, strings.TrimSpace(string(exit.Stdout)) + "|" + strings.TrimSpace(string(exit.Stderr))
}

// TestExplain: the cause is looked for where the agent ran, only after a failure without a word, and only when that is wanted.
func TestExplain(t *testing.T) {
	const cause = `echo "$WHAT $MORE $(basename "$PWD") $HOME"; echo said >&2; exit 1`
	for name, c := range map[string]struct {
		script, session string
		class, want     substrat.FailureClass
		off             bool
		detail          string
		asked           int
	}{
		"found":            {"exit 1", "", substrat.ClassAuth, substrat.ClassAuth, false, "cause more ws HOME|said", 1},
		"found, resuming":  {"exit 1", "s9", substrat.ClassAuth, substrat.ClassAuth, false, "cause more ws HOME|said", 1},
		"not found":        {"exit 1", "", substrat.ClassAgent, substrat.ClassAgent, false, "cause more ws HOME|said", 1},
		"not found, going": {"exit 1", "s9", substrat.ClassAgent, substrat.ClassAgent, false, "nobody knows", 1},
		"it said why":      {"echo why >&2; exit 1", "", substrat.ClassAuth, substrat.ClassAgent, false, "nobody knows", 0},
		"not wanted":       {"exit 1", "", substrat.ClassAuth, substrat.ClassAgent, true, "nobody knows", 0},
		"all is well":      {"echo 'done x'", "", substrat.ClassAuth, "", false, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			asked, home := 0, t.TempDir()
			dir := t.TempDir() + "/ws"
			mkdir(t, dir)
			p := mute{shell{script: c.script}, cause, c.class, &asked}
			o := agentcli.Options{Prompt: "x", Dir: dir, Home: home, Session: c.session, Env: map[string]string{"MORE": "more"}, Explain: !c.off}
			r, err := agentcli.Do(t.Context(), p, o, nil)
			if err != nil || r.Class != c.want || r.Detail != strings.ReplaceAll(c.detail, "HOME", home) || asked != c.asked {
				t.Errorf("%+v, %v, asked %d times", r, err, asked)
			}
		})
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}
