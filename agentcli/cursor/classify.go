package cursor

import (
	"regexp"
	"strings"
	"sync"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// sign is a text by which a failure is known. The first that fits decides, so that the special stand before the general.
type sign struct {
	class  substrat.FailureClass
	text   func() *regexp.Regexp
	remedy string
}

// fits is compiled when it is first used: few processes of the program class a failure, and all begin with this package.
func fits(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) })
}

// signs are the texts of builds 2026.02 to 2026.10, and those that users reported.
var signs = []sign{
	{substrat.ClassTrust, fits(`workspace trust required|not trusted`), "the turn must be started with --trust"},
	{substrat.ClassConfig, fits(`cli-config\.json\.tmp|rename .*cli-config\.json`), "two runs wrote the same configuration; it is tried again"},
	{substrat.ClassQuota, fits(`usage limit|usage limits will reset|out of (usage|credits)|spend limit|quota exceeded|payment required|plan limit`), "wait for the limit to reset, or change the plan"},
	{substrat.ClassRateLimit, fits(`rate.?limit|too many requests|\b429\b|resource_exhausted|overloaded`), "wait a moment"},
	{substrat.ClassAuth, fits(`authentication required|not logged in|not authenticated|api key is invalid|invalid api key|unauthenticated|unauthorized|token expired|please run '?(cursor-)?agent login`), "run `cursor-agent login`, or set CURSOR_API_KEY"},
	{substrat.ClassSession, fits(`persistent.session|session not found|session "[^"]*" not found|unknown session|no such (chat|session)`), "the conversation is gone; the next turn begins a new one"},
	{substrat.ClassModel, fits(`cannot use this model|model not found|unknown model|invalid model|model .{0,60}(is )?not available`), "cursor-agent models lists what can be used"},
	{substrat.ClassLocked, fits(`database is locked|sqlite_busy|sqlite_locked`), "another process has this conversation open"},
	{substrat.ClassNetwork, fits(`etimedout|econnrefused|econnreset|enotfound|eai_again|\[unavailable\]|nghttp2|stream stalled|network|connection (lost|reset|refused|error)|socket hang up|retriableerror|getaddrinfo`), "check the connection to the provider"},
	{substrat.ClassNotInstalled, fits(`command not found|no such file or directory.*(cursor-agent|/agent)|cannot find module`), "install the CLI: substrat doctor says how"},
}

// ansi are the escape sequences a CLI colours its messages with.
var ansi = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)")

// detailMost bounds what is told of a CLI's own words: one build lists every model in one line.
const detailMost = 2000

// classify finds the class of a failure in what the CLI said, and makes a detail of it that says what to do.
func classify(said string, otherwise substrat.FailureClass) (substrat.FailureClass, string) {
	said = strings.TrimSpace(ansi.ReplaceAllString(strings.ToValidUTF8(said, "\uFFFD"), ""))
	short := said
	if len(short) > detailMost {
		short = strings.ToValidUTF8(short[:detailMost], "") + "…"
	}
	for _, s := range signs {
		if s.text().MatchString(said) {
			return s.class, short + "; " + s.remedy
		}
	}
	return otherwise, short
}

// Diagnose classes a turn that ended without a terminal record.
func (p *Provider) Diagnose(_ agentcli.Request, partial agentcli.Result, exit agentcli.Exit) (substrat.FailureClass, string) {
	said := strings.TrimSpace(string(exit.Stderr) + "\n" + string(exit.Stdout))
	switch {
	case exit.Signal != "":
		return substrat.ClassCrashed, "the agent was ended by " + exit.Signal + " before its result"
	case exit.Code == 0:
		if class, detail := classify(said, ""); class == substrat.ClassTrust || class == substrat.ClassAuth {
			return class, detail
		}
		return substrat.ClassProtocol, "the agent exited as if all were well, without a result"
	case exit.Code == 127 || exit.Code == 126:
		return substrat.ClassNotInstalled, join("the agent could not be run", said)
	case said == "" && partial.Session == "":
		return substrat.ClassAgent, "the agent exited with code " + itoa(int64(exit.Code)) + " and printed nothing: " +
			"it may not work without a terminal, not be logged in, or fail before it reads its prompt; " +
			"run `cursor-agent -p --output-format stream-json hello` by hand and look at what it prints"
	}
	class, detail := classify(said, substrat.ClassAgent)
	if class == substrat.ClassAgent {
		detail = join("the agent exited with code "+itoa(int64(exit.Code)), detail)
	}
	return class, detail
}

func join(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}
