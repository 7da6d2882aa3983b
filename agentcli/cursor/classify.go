package cursor

import (
	"regexp"
	"strings"
	"sync"

	"substrat.dev/substrat"
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
	{substrat.ClassAgent, fits(`argument list too long|\be2big\b`), "the prompt is too long for a command line: give it on standard input"},
	{substrat.ClassAgent, fits(`raw mode is not supported|not a (tty|terminal)|requires a (tty|terminal)|inappropriate ioctl`), "the CLI wanted a terminal: it must be started with --print, and a build that then still wants one is too old; run `cursor-agent update`"},
	{substrat.ClassAgent, fits(`unknown option '?-`), "this build of the CLI does not know that option; run `cursor-agent update`"},
	{substrat.ClassAgent, fits(`\benospc\b|no space left`), "free some space on the disk"},
	{substrat.ClassAgent, fits(`(eacces|erofs|eperm).{0,200}\.(cursor|config/cursor)\b`), "the CLI must be able to write its own directory in the home"},
	{substrat.ClassCrashed, fits(`heap out of memory|segmentation fault|fatal error.{0,40}(v8|node)`), "give it more memory, or a smaller task"},
	{substrat.ClassTools, fits(`too many tools|exceeds? the (maximum|limit).{0,30}tools|maximum (number )?of tools`), "take MCP servers away: the CLI has a limit for all of them together"},
	{substrat.ClassQuota, fits(`usage limit|usage limits will reset|out of (usage|credits)|spend limit|quota exceeded|payment required|plan limit`), "wait for the limit to reset, or change the plan"},
	{substrat.ClassRateLimit, fits(`rate.?limit|too many requests|\b429\b|resource_exhausted|overloaded`), "wait a moment"},
	{substrat.ClassAuth, fits(`authentication (required|failed)|not logged in|not authenticated|api key is invalid|invalid api key|unauthenticated|unauthorized|token expired|please run '?(cursor-)?agent login|keychain`), loginRemedy},
	{substrat.ClassSession, fits(`persistent.session|session not found|session "[^"]*" not found|unknown session|no such (chat|session)|session id "[^"]*" is already in use|invalid --new-session-id`), "the conversation is gone; the next turn begins a new one"},
	{substrat.ClassModel, fits(`cannot use this model|model not found|unknown model|invalid model|model .{0,60}(is )?not available`), "cursor-agent models lists what can be used"},
	{substrat.ClassLocked, fits(`database is locked|sqlite_busy|sqlite_locked`), "another process has this conversation open"},
	{substrat.ClassNotInstalled, fits(`command not found|no such file or directory.*(cursor-agent|/agent|node)|\b(node|cursor-agent)'?: (no such file|not found)|cannot find module|exec format error|spawn \S+ enoent|executable file not found`), "install the CLI, and put it and what it runs on PATH: substrat doctor says how"},
	{substrat.ClassNetwork, fits(`etimedout|econnrefused|econnreset|enotfound|eai_again|\[unavailable\]|nghttp2|stream stalled|network|connection (lost|reset|refused|error)|socket hang up|retriableerror|getaddrinfo|self.signed certificate|unable to (get|verify) .{0,20}certificate`), "check the connection to the provider"},
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
