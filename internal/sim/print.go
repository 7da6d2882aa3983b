package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

const trustText = `
⚠ Workspace Trust Required

Cursor Agent can execute code and access files in this directory.

Do you trust the contents of this directory?

  %s

To proceed, you can either:
  • Run 'agent' interactively to choose
  • Pass --trust, --yolo, or -f if you trust this directory`

// print runs one turn without a screen.
func (a *app) print(ctx context.Context, prompt string) error {
	if a.opts.reportFormat != "" {
		return refuse("error: unknown option '--format'")
	}
	if !a.opts.print && isTerminal(a.stdin) && isTerminal(a.stdout) {
		return refuse("Error: the simulator has no screen; pass -p")
	}
	if strings.TrimSpace(prompt) == "" {
		text, err := a.readPrompt(ctx)
		if err != nil {
			return err
		}
		prompt = strings.TrimRight(text, "\n")
	}
	plain, scripts := parsePrompt(prompt)
	if err := a.checkFormat(scripts, prompt); err != nil {
		return err
	}
	chosen, err := a.settle(scripts)
	if err != nil {
		return err
	}
	session, err := a.session()
	if err != nil {
		return err
	}
	if err := a.earlyFault(ctx, scripts, session); err != nil {
		return err
	}
	t := newTurn(a, session, chosen, prompt, plain)
	return t.run(ctx, scripts)
}

// checkFormat makes the first checks in the real program's order: authentication, format, prompt.
func (a *app) checkFormat(scripts []script, prompt string) error {
	if isEarly(scripts, "auth") {
		return refuse(authText)
	}
	switch a.opts.format {
	case "":
		a.opts.format = "text"
	case "text", "json", "stream-json":
	default:
		return refuse("Error: Invalid output format: %s. Must be one of: text, json, stream-json", a.opts.format)
	}
	switch a.opts.mode {
	case "", "plan", "ask":
	default:
		return refuse("error: option '--mode <mode>' argument '%s' is invalid. Allowed choices are plan, ask.", a.opts.mode)
	}
	if strings.TrimSpace(prompt) == "" {
		return refuse("Error: No prompt provided for print mode")
	}
	return nil
}

// settle makes the last checks, model and trust, and stores what they decide.
func (a *app) settle(scripts []script) (*choice, error) {
	set, err := a.conf.load()
	if err != nil {
		return nil, err
	}
	slug := "auto"
	if set.Model != nil && set.Model.ModelID != "" {
		slug = set.Model.ModelID
	}
	slug = cmp.Or(a.opts.model, slug)
	m, ok := findModel(slug)
	if !ok || isEarly(scripts, "bad_model") {
		return nil, badModel(slug)
	}
	if !a.opts.trust && !a.opts.force && !a.conf.trusted(a.space) {
		return nil, refuse(trustText, string(a.space))
	}
	if a.opts.trust {
		if err := a.conf.trust(a.space); err != nil {
			return nil, err
		}
	}
	var stored *selectedModel
	if a.opts.model != "" {
		stored = &selectedModel{m.slug, m.name}
	}
	if err := a.conf.save(set, stored); err != nil {
		return nil, err
	}
	rules, err := a.rules(set)
	return &choice{model: m, rules: rules}, err
}

// choice is what the checks before a turn found out.
type choice struct {
	model model
	rules rules
}

// rules joins the user's permissions with the project's.
func (a *app) rules(set *settings) (rules, error) {
	r := rules{force: a.opts.force, mode: a.opts.mode, allow: []string{"Shell(ls)"}}
	if set.Permissions != nil {
		r.allow, r.deny = set.Permissions.Allow, set.Permissions.Deny
	}
	data, err := os.ReadFile(filepath.Join(string(a.space), ".cursor", "cli.json"))
	if err != nil {
		return r, nil // most projects have none
	}
	var project struct{ Permissions permissions }
	if err := json.Unmarshal(data, &project); err != nil {
		return r, fmt.Errorf("cannot parse the project's cli.json: %w", err)
	}
	r.allow = slices.Concat(r.allow, project.Permissions.Allow)
	r.deny = slices.Concat(r.deny, project.Permissions.Deny)
	return r, nil
}

func (a *app) keySource() string {
	switch {
	case a.opts.apiKey != "":
		return "flag"
	case a.env["CURSOR_API_KEY"] != "":
		return "env"
	}
	return "login"
}

// session decides which chat the turn belongs to. An unknown UUID begins an empty chat under that id, as the real
// program does without a word.
func (a *app) session() (string, error) {
	switch {
	case a.opts.newSession != "":
		return a.claimSession(a.opts.newSession)
	case a.opts.resuming && a.opts.resume != "":
		if back, err := strconv.Atoi(a.opts.resume); err == nil && back < 0 {
			return a.previousChat(-back), nil
		}
		if !isUUID(a.opts.resume) {
			return "", unknownSession(a.opts.resume)
		}
		return a.opts.resume, nil
	case a.opts.resuming, a.opts.continuing:
		return a.previousChat(1), nil
	}
	return uuid.NewString(), nil
}

// isUUID holds for the canonical form only; uuid.Validate takes braces and urn: too.
func isUUID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }

func unknownSession(id string) error {
	return refuse(`Failed to claim persistent session for chat "%s": Persistent-session chat ID must be a UUID`, id)
}

func (a *app) claimSession(id string) (string, error) {
	parsed, err := uuid.Parse(id)
	if err != nil || !isUUID(id) || parsed.Version() != 4 {
		return "", refuse(`Error: Invalid --new-session-id "%s": expected a UUIDv4.`, id)
	}
	if a.conf.chat(a.space, id).exists() {
		return "", refuse(`Error: Session ID "%s" is already in use.`, id)
	}
	return id, nil
}

// previousChat gives the nth latest chat of the workspace, a new id where there are not so many.
func (a *app) previousChat(n int) string {
	entries, err := os.ReadDir(a.conf.chats(a.space))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return uuid.NewString()
	}
	type aged struct {
		id string
		at int64
	}
	var list []aged
	for _, e := range entries {
		if isUUID(e.Name()) {
			list = append(list, aged{e.Name(), a.conf.chat(a.space, e.Name()).readMeta().UpdatedAtMs})
		}
	}
	if n > len(list) {
		return uuid.NewString()
	}
	slices.SortFunc(list, func(x, y aged) int { return cmp.Or(cmp.Compare(y.at, x.at), cmp.Compare(x.id, y.id)) })
	return list[n-1].id
}
