package cursor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// installed is where the program was found.
type installed struct{ path, real, home string }

// dateVersion is the form of a real build's version: 2026.10.01-e373342.
var dateVersion = regexp.MustCompile(`^\d{4}\.\d{2}\.\d{2}-[0-9a-z.-]+`)

// remedy tells how to get the program.
const remedy = "install it as cursor.com/docs/cli says, then run `cursor-agent login` or set CURSOR_API_KEY; CURSOR_AGENT_PATH names one that is elsewhere"

// detect looks for the program: where CURSOR_AGENT_PATH says, on the search path under its two names, and where its
// installer puts it. "agent" is a name that others use too, so one is taken only if its version looks right; "cursor" is
// the editor's launcher and never taken.
func detect() (installed, error) {
	home, _ := os.UserHomeDir()
	if path := os.Getenv("CURSOR_AGENT_PATH"); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return installed{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot run %s, which CURSOR_AGENT_PATH names: %v", path, err)
		}
		return locate(path, home)
	}
	for _, name := range []string{"cursor-agent", filepath.Join(home, ".local/bin/cursor-agent"), "agent", filepath.Join(home, ".local/bin/agent")} {
		path, err := exec.LookPath(name)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			continue
		}
		if filepath.Base(name) == "agent" && !dateVersion.MatchString(version(context.Background(), path)) {
			continue
		}
		return locate(path, home)
	}
	what := "cannot find cursor-agent"
	if other := strangers(); other != "" {
		what += ": " + other
	}
	return installed{}, substrat.Errorf(substrat.CodeNotInstalled, "%s", what).WithHint("%s", remedy)
}

func locate(path, home string) (installed, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return installed{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot find cursor-agent: %v", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return installed{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot follow %s: %v", path, err)
	}
	return installed{path: path, real: real, home: home}, nil
}

// launcherVersion is what the editor's launcher says: its version and the commit it was built from.
var launcherVersion = regexp.MustCompile(`^\d+\.\d+\.\d+\s+[0-9a-f]{40}\b`)

// strangers names the programs that were found and not taken, for a person who wonders.
func strangers() string {
	var said []string
	if path, err := exec.LookPath("cursor"); err == nil {
		said = append(said, path+" is the editor's launcher, not its agent")
	}
	if path, err := exec.LookPath("agent"); err == nil {
		said = append(said, path+" is another program of that name")
	}
	return strings.Join(said, "; ")
}

// version asks a program for its version. It is given a moment only: a foreign program may do anything.
func version(ctx context.Context, path string) string {
	exit, err := runHere(ctx, "", agentcli.Command{Argv: []string{path, "--version"}})
	if err != nil || exit.Code != 0 {
		return ""
	}
	return strings.TrimSpace(string(exit.Stdout))
}
