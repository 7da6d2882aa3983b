package cursor

import (
	"context"
	"errors"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// signalled are the exit codes by which a shell, or the CLI itself, tells of a signal.
var signalled = map[int]string{130: "SIGINT", 137: "SIGKILL", 143: "SIGTERM"}

// Diagnose classes a turn that ended without a terminal record, and says which of the known causes it was and what to do.
func (p *Provider) Diagnose(req agentcli.Request, partial agentcli.Result, exit agentcli.Exit) (substrat.FailureClass, string) {
	said := strings.TrimSpace(string(exit.Stderr) + "\n" + string(exit.Stdout))
	switch {
	case exit.Signal != "":
		return substrat.ClassCrashed, "the agent was ended by " + exit.Signal + " before its result"
	case exit.Code == 0:
		if class, detail := classify(said, ""); class == substrat.ClassTrust || class == substrat.ClassAuth {
			return class, detail
		}
		return substrat.ClassProtocol, "the agent exited as if all were well, without a result"
	case signalled[exit.Code] != "":
		return substrat.ClassCrashed, join("the agent was ended by "+signalled[exit.Code]+" before its result", said[:min(len(said), detailMost)])
	case exit.Code == 127 || exit.Code == 126:
		_, detail := classify(said, substrat.ClassNotInstalled)
		return substrat.ClassNotInstalled, join("the agent could not be run", detail)
	case said == "":
		return substrat.ClassAgent, silence(req, partial, exit)
	}
	class, detail := classify(said, substrat.ClassAgent)
	if class == substrat.ClassAgent {
		detail = join("the agent exited with code "+itoa(int64(exit.Code)), detail)
	}
	return class, detail
}

// silence is for a CLI that fails without a word: what it can be, the likeliest first, by how far it came.
func silence(req agentcli.Request, partial agentcli.Result, exit agentcli.Exit) string {
	what := "the agent exited with code " + itoa(int64(exit.Code))
	if partial.Session != "" {
		return what + " in the middle of its turn and said nothing: its connection or its provider may have failed; " +
			"the conversation " + partial.Session + " can be resumed"
	}
	causes := []string{"it may not be logged in (`cursor-agent status`)", "not work without a terminal (`cursor-agent update`)", "not trust the directory"}
	if req.Model != "" {
		causes = append(causes, "not know the model "+req.Model+" (`cursor-agent models`)")
	}
	if req.Session != "" {
		causes = append(causes, "not find the conversation "+req.Session)
	}
	causes = append(causes, "not find what it runs on PATH", "or lack a variable that a shell has")
	return what + " and printed nothing: " + strings.Join(causes, ", ") +
		"; run `cursor-agent -p --output-format stream-json --trust hello` by hand, without a pipe, and look at what it prints"
}

var _ agentcli.Explainer = (*Provider)(nil)

// Explain implements agentcli.Explainer. It looks for the cause of a failure that says nothing: it tries, in the place where the agent ran, what a person
// would. It spends no tokens. It tells ClassAgent if everything it can try works.
func (p *Provider) Explain(ctx context.Context, run Runner, req agentcli.Request) (substrat.FailureClass, string) {
	exit, err := p.call(ctx, run, req.Dir, "--version")
	if err != nil {
		return substrat.ClassNotInstalled, err.Error()
	}
	said := strings.TrimSpace(string(exit.Stdout))
	switch {
	case exit.Code != 0 || exit.Signal != "" || said == "":
		class, detail := classify(plain(exit), substrat.ClassNotInstalled)
		return class, join("the CLI does not even tell its version: what it runs may not be on PATH", detail)
	case launcherVersion.MatchString(said):
		return substrat.ClassNotInstalled, "what was run is the editor's launcher, not its agent; " + remedy
	case !dateVersion.MatchString(said):
		return substrat.ClassNotInstalled, "what was run is not Cursor's CLI, but says it is " + said[:min(len(said), 80)] + "; " + remedy
	}
	models, err := p.Models(ctx, run)
	if e, ok := errors.AsType[*substrat.Error](err); ok {
		class, _ := classify(e.Message, substrat.ClassAgent)
		return class, e.Message
	}
	if req.Model != "" && len(models) > 0 && !offers(models, req.Model) {
		return substrat.ClassModel, "the model " + req.Model + " is not offered; cursor-agent models lists what can be used"
	}
	if req.Mode == agentcli.ModePlan || req.Mode == agentcli.ModeAsk {
		if exit, err := p.call(ctx, run, req.Dir, "--help"); err == nil && exit.Code == 0 && !strings.Contains(string(exit.Stdout), "--mode") {
			return substrat.ClassAgent, "this build of the CLI has no mode " + string(req.Mode) + "; run `cursor-agent update`"
		}
	}
	return substrat.ClassAgent, "the CLI runs, is logged in and knows its model: it may not work without a terminal, or its provider refused the turn; " +
		"run `cursor-agent -p --output-format stream-json --trust hello` by hand and look at what it prints"
}

// offers reports a model that is listed, or the base of one: bases are taken too.
func offers(models []agentcli.Model, id string) bool {
	base, _, _ := strings.Cut(id, "[")
	for _, m := range models {
		if m.ID == id || m.ID == base || strings.HasPrefix(m.ID, base+"-") || strings.HasPrefix(m.ID, base+"[") {
			return true
		}
	}
	return false
}

func join(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}
