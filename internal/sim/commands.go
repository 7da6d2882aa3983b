package sim

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/google/uuid"
)

type command func(ctx context.Context, args []string) error

// command finds what the first operand names. A word after "--" is always prompt.
func (a *app) command() (command, bool) {
	if len(a.opts.operands) == a.opts.literal {
		return nil, false
	}
	switch name := a.opts.operands[0]; name {
	case "create-chat":
		return a.cmdCreateChat, true
	case "ls":
		return a.cmdLs, true
	case "status", "whoami":
		return a.cmdStatus, true
	case "about":
		return a.cmdAbout, true
	case "models":
		return a.cmdModels, true
	case "mcp":
		return a.cmdMCP, true
	case "login", "logout":
		return a.cmdAccount, true
	case "agent":
		return func(ctx context.Context, args []string) error { return a.print(ctx, strings.Join(args, " ")) }, true
	case "resume":
		a.opts.continuing = true
		return func(ctx context.Context, args []string) error { return a.print(ctx, strings.Join(args, " ")) }, true
	case "help":
		return a.cmdHelp, true
	case "acp", "persist", "install-shell-integration", "uninstall-shell-integration", "plugin", "worker", "team",
		"bedrock", "update", "generate-rule", "rule":
		return func(context.Context, []string) error {
			return refuse("Error: the simulator does not play the command '%s'", name)
		}, true
	}
	return nil, false
}

func (a *app) cmdHelp(context.Context, []string) error { return a.say(helpText) }

func (a *app) say(text string) error {
	_, err := fmt.Fprint(a.stdout, text)
	return err
}

// cmdCreateChat makes the directory and meta.json; there is no store before the first turn.
func (a *app) cmdCreateChat(context.Context, []string) error {
	id := uuid.NewString()
	if err := a.conf.chat(a.space, id).touch(false, ""); err != nil {
		return err
	}
	return a.say(id + "\n")
}

func (a *app) cmdLs(context.Context, []string) error {
	if !isTerminal(a.stdin) || !isTerminal(a.stdout) {
		return refuse("ERROR Raw mode is not supported on the current process.stdin, which Ink uses as input stream by default.")
	}
	return refuse("Error: the simulator has no screen")
}

func (a *app) cmdAccount(context.Context, []string) error {
	return a.say("This is a simulator: it has no account, and nothing to log in to or out of.\n")
}

const simEmail = "simulator@example.invalid"

// cmdStatus says logged in, as hosts ask before they start a turn; the fault "auth" plays the other case.
func (a *app) cmdStatus(context.Context, []string) error {
	if a.opts.reportFormat != "json" {
		return a.say("✓ Logged in as " + simEmail + "\n")
	}
	return a.sayJSON(object{
		{"status", "authenticated"}, {"isAuthenticated", true}, {"hasAccessToken", true}, {"hasRefreshToken", true},
		{"userInfo", object{
			{"email", simEmail}, {"userId", 0}, {"firstName", "Substrat"}, {"lastName", "Simulator"},
			{"createdAt", "2026-10-01T00:00:00.000Z"},
		}},
	})
}

func (a *app) sayJSON(o object) error { return a.say(string(appendJSON(nil, o)) + "\n") }

func (a *app) cmdAbout(context.Context, []string) error {
	current, err := a.currentModel()
	if err != nil {
		return err
	}
	about := object{
		{"cliVersion", version}, {"latestStatus", "up-to-date"}, {"latestVersion", version}, {"model", current.name},
		{"subscriptionTier", "Simulated"}, {"osPlatform", runtime.GOOS}, {"osArch", "x64"}, {"userEmail", simEmail},
		{"terminalProgram", a.env["TERM_PROGRAM"]}, {"shell", a.env["SHELL"]}, {"lastRequestId", nil},
	}
	if a.opts.reportFormat == "json" {
		return a.sayJSON(about)
	}
	var text strings.Builder
	for _, f := range about {
		fmt.Fprintf(&text, "%-18s %v\n", f.key, f.value)
	}
	return a.say(text.String())
}

func (a *app) currentModel() (model, error) {
	set, err := a.conf.load()
	if err != nil {
		return model{}, err
	}
	if set.Model != nil {
		if m, ok := findModel(set.Model.ModelID); ok {
			return m, nil
		}
	}
	return models()[0], nil
}

func (a *app) cmdModels(context.Context, []string) error {
	current := models()[0]
	if a.conf != nil {
		m, err := a.currentModel()
		if err != nil {
			return err
		}
		current = m
	}
	text := "Available models\n\n"
	for i, m := range models() {
		text += m.slug + " - " + m.name
		if i == 0 {
			text += " (default)"
		}
		if m == current {
			text += " (current)"
		}
		text += "\n"
	}
	return a.say(text + "\nTip: use --model <id> to choose one.\n")
}
