package cursor

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Runner is how the CLI's own commands are run.
type Runner = agentcli.Runner

// Account is who the CLI works for.
type Account struct {
	Login agentcli.Login `json:"login"`
	Email string         `json:"email,omitempty"`
	// Message is what the CLI says about it.
	Message string `json:"message,omitempty"`
}

// call runs one of the CLI's own commands.
func (p *Provider) call(ctx context.Context, run Runner, dir string, args ...string) (agentcli.Exit, error) {
	cmd, err := p.program(agentcli.Request{Bare: true})
	if err != nil {
		return agentcli.Exit{}, err
	}
	cmd.Argv = append(cmd.Argv, args...)
	cmd.Env["NO_OPEN_BROWSER"], cmd.Env["NO_COLOR"] = "1", "1"
	return run(ctx, dir, cmd)
}

// Account asks who is logged in. It tells of the login only: a key in the environment works without one.
func (p *Provider) Account(ctx context.Context, run Runner) (Account, error) {
	exit, err := p.call(ctx, run, "", "status", "--format", "json")
	if err != nil {
		return Account{}, err
	}
	if unknownOption.Match(exit.Stderr) {
		if exit, err = p.call(ctx, run, "", "status"); err != nil {
			return Account{}, err
		}
	}
	return ParseAccount(exit)
}

var (
	unknownOption = regexp.MustCompile(`unknown option '([^']+)'`)
	loggedInAs    = regexp.MustCompile(`(?i)logged in as\s+(\S+)`)
	loggedOut     = regexp.MustCompile(`(?i)not (logged|signed) in|not authenticated|authentication required|login required`)
)

// ParseAccount reads what `status` printed, as JSON or as text. It exits with 0 also when nobody is logged in.
func ParseAccount(exit agentcli.Exit) (Account, error) {
	if v := firstObject(exit.Stdout); v != nil {
		var space room
		f := fieldsOf(v, &space)
		if ok := f.get("isAuthenticated"); ok != nil {
			a := Account{Login: agentcli.LoggedOut, Email: str(in(f.get("userInfo"), "email")), Message: f.str("message", "status")}
			if boolean(ok) {
				a.Login = agentcli.LoggedIn
			}
			return a, nil
		}
	}
	said := plain(exit)
	if m := loggedInAs.FindStringSubmatch(said); m != nil {
		return Account{Login: agentcli.LoggedIn, Email: m[1], Message: strings.TrimSpace(said)}, nil
	}
	if loggedOut.MatchString(said) {
		return Account{Login: agentcli.LoggedOut, Message: strings.TrimSpace(said)}, nil
	}
	return Account{}, refused("cannot tell who is logged in", exit)
}

// firstObject finds the first line that is an object, or an object that begins a line and goes on over several.
func firstObject(out []byte) value {
	for i, tries := 0, 0; i < len(out) && tries < spreadMost; {
		if out[i] == '{' {
			tries++
			if end := checkValue(out, i, 0); end > 0 {
				return out[i:end]
			}
		}
		n := bytes.IndexByte(out[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
	}
	return nil
}

// plain is all that a command printed, without colours; what it wrote over counts too.
func plain(exit agentcli.Exit) string {
	said := strings.ToValidUTF8(string(exit.Stdout)+"\n"+string(exit.Stderr), "\uFFFD")
	return strings.ReplaceAll(ansi.ReplaceAllString(said, ""), "\r", "\n")
}

// refused is a command that did not do what it was asked to.
func refused(what string, exit agentcli.Exit) error {
	class, detail := classify(plain(exit), substrat.ClassAgent)
	if detail == "" {
		detail = "the CLI said nothing and exited with code " + itoa(int64(exit.Code))
	}
	code := substrat.CodeInternal
	switch class {
	case substrat.ClassAuth:
		code = substrat.CodeForbidden
	case substrat.ClassNetwork, substrat.ClassRateLimit, substrat.ClassQuota:
		code = substrat.CodeUnavailable
	case substrat.ClassNotInstalled:
		code = substrat.CodeNotInstalled
	}
	if unknownOption.MatchString(detail) {
		code = substrat.CodeUnsupported
	}
	return substrat.Errorf(code, "%s: %s", what, detail)
}

// Models lists what --model takes.
func (p *Provider) Models(ctx context.Context, run Runner) ([]agentcli.Model, error) {
	exit, err := p.call(ctx, run, "", "models")
	if err != nil {
		return nil, err
	}
	models, err := ParseModels(exit)
	if err != nil && unknownCommand.MatchString(plain(exit)) {
		if exit, err = p.call(ctx, run, "", "--list-models"); err == nil {
			models, err = ParseModels(exit)
		}
	}
	return models, err
}

var (
	unknownCommand = regexp.MustCompile(`(?i)unknown command|too many arguments`)
	modelLine      = regexp.MustCompile(`^\s*(?:[*•▸-]\s+)?([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?)\s+-\s+(.+)$`)
	modelMark      = regexp.MustCompile(`\s*\((default|current|current, default|default, current)\)\s*$`)
)

// ParseModels reads the list: a header, "slug - Name" lines, and a tip. The default is the one that a run without --model
// takes: the current one, as every run with --model leaves its choice behind.
func ParseModels(exit agentcli.Exit) ([]agentcli.Model, error) {
	var models []agentcli.Model
	current, standard := -1, -1
	for line := range strings.Lines(plain(agentcli.Exit{Stdout: exit.Stdout})) {
		m := modelLine.FindStringSubmatch(strings.TrimRight(strings.ReplaceAll(line, "\u200b", ""), " \t\r\n"))
		if m == nil {
			continue
		}
		title := m[2]
		for mark := modelMark.FindStringSubmatch(title); mark != nil; mark = modelMark.FindStringSubmatch(title) {
			title = strings.TrimSuffix(title, mark[0])
			if strings.Contains(mark[1], "current") {
				current = len(models)
			}
			if strings.Contains(mark[1], "default") {
				standard = len(models)
			}
		}
		models = append(models, agentcli.Model{ID: m[1], Title: strings.Join(strings.Fields(title), " ")})
	}
	if len(models) == 0 {
		return nil, refused("cannot list the models", exit)
	}
	if current < 0 {
		current = standard
	}
	if current >= 0 {
		models[current].Default = true
	}
	return models, nil
}

// CreateChat makes an empty conversation for a workspace and gives its id.
func (p *Provider) CreateChat(ctx context.Context, run Runner, dir string) (string, error) {
	exit, err := p.call(ctx, run, dir, "create-chat")
	if err != nil {
		return "", err
	}
	return p.ParseSession(exit.Stdout, exit)
}

// Chats asks the CLI itself for its conversations. Builds up to 2026.10 show them on a terminal only, which is told as
// unsupported: the conversations' own files tell more.
func (p *Provider) Chats(ctx context.Context, run Runner, dir string) ([]string, error) {
	exit, err := p.call(ctx, run, dir, "ls")
	if err != nil {
		return nil, err
	}
	return ParseChats(exit)
}

var anyUUID = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)

// ParseChats finds the ids of conversations in what `ls` printed.
func ParseChats(exit agentcli.Exit) ([]string, error) {
	said := plain(exit)
	if strings.Contains(said, "Raw mode is not supported") {
		return nil, substrat.Errorf(substrat.CodeUnsupported, "cannot list conversations: this build of the CLI shows them on a terminal only").
			WithHint("substrat session ls reads them from its files")
	}
	if exit.Code != 0 || exit.Signal != "" {
		return nil, refused("cannot list conversations", exit)
	}
	return anyUUID.FindAllString(string(exit.Stdout), -1), nil
}
