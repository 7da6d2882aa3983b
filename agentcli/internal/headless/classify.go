package headless

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Sign is a text by which a failure is known, and what to do about it.
type Sign struct {
	Class  substrat.FailureClass
	Fits   func() *regexp.Regexp
	Remedy string
}

// Fits compiles a pattern, without regard to case, when it is first used.
func Fits(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) })
}

// Failures classes what one CLI says about its failures.
type Failures struct {
	// Title is how people call the CLI, Program what they type.
	Title, Program string
	// Signs are tried before those that all CLIs have in common.
	Signs []Sign
	// Exits are exit codes that say why by themselves.
	Exits map[int]substrat.FailureClass
	// Login and Models say what to do where the account or the model is at fault; Install where the program is missing.
	Login, Models, Install string
}

// common are the texts that the services behind these CLIs share. The first that fits decides, so that the special stand
// before the general.
var common = []struct {
	class substrat.FailureClass
	fits  func() *regexp.Regexp
}{
	{substrat.ClassRateLimit, Fits(`rate.?limit|too many requests|\b429\b|overloaded|\b529\b|high demand`)},
	{substrat.ClassQuota, Fits(`usage limit|insufficient_quota|credit balance|out of (usage|credits)|spend(ing)? limit|quota (exceeded|exhausted)|exceeded your current quota|payment required|billing|\b402\b`)},
	{substrat.ClassAuth, Fits(`not logged in|log ?in again|please run .?/?login|authenticat|unauthori[sz]ed|invalid .{0,12}api.?key|api.?key (is )?(not valid|invalid|missing)|incorrect api key|token (has )?(expired|been revoked)|permission_denied|\b40[13]\b`)},
	{substrat.ClassModel, Fits(`model.?not.?found|issue with the selected model|unknown model|invalid model|model .{0,80}(does not exist|not exist|is not (available|supported|found))|\b404\b`)},
	{substrat.ClassLocked, Fits(`database is locked|sqlite_busy`)},
	{substrat.ClassNetwork, Fits(`etimedout|econnrefused|econnreset|enotfound|eai_again|connection (failed|lost|reset|refused|error|closed)|socket hang up|fetch failed|getaddrinfo|network|timed out|stream disconnected|error sending request|\b50[0-4]\b|internal server error|server_error|bad gateway|service unavailable|temporary errors`)},
}

// ansi are the escape sequences a CLI colours its messages with.
var ansi = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)")

// detailMost bounds what is told of a CLI's own words.
const detailMost = 2000

// Classify finds the class of a failure in what the CLI said, and makes a detail of it that says what to do.
func (f Failures) Classify(said string, otherwise substrat.FailureClass) (substrat.FailureClass, string) {
	said = strings.TrimSpace(ansi.ReplaceAllString(strings.ToValidUTF8(said, "\uFFFD"), ""))
	short := said
	if len(short) > detailMost {
		short = strings.ToValidUTF8(short[:detailMost], "") + "…"
	}
	for _, s := range f.Signs {
		if s.Fits().MatchString(said) {
			return s.Class, join(short, f.remedy(s.Class, s.Remedy))
		}
	}
	for _, s := range common {
		if s.fits().MatchString(said) {
			return s.class, join(short, f.remedy(s.class, ""))
		}
	}
	return otherwise, join(short, f.remedy(otherwise, ""))
}

// Detail makes a detail of what the CLI said, for a failure whose class is known.
func (f Failures) Detail(said string, class substrat.FailureClass) string {
	_, detail := Failures{Signs: []Sign{{Class: class, Fits: Fits(``), Remedy: f.remedy(class, "")}}}.Classify(said, class)
	return detail
}

// remedy says what to do about a class of failures.
func (f Failures) remedy(class substrat.FailureClass, own string) string {
	if own != "" {
		return own
	}
	switch class {
	case substrat.ClassAuth:
		return f.Login
	case substrat.ClassModel:
		return f.Models
	case substrat.ClassQuota:
		return "wait for the limit to reset, or change the plan"
	case substrat.ClassRateLimit:
		return "wait a moment"
	case substrat.ClassNetwork:
		return "check the connection to the provider"
	case substrat.ClassSession:
		return "the conversation is gone; the next turn begins a new one"
	case substrat.ClassNotInstalled:
		return f.Install
	}
	return ""
}

// Diagnose classes a turn that ended without a terminal record.
func (f Failures) Diagnose(partial agentcli.Result, exit agentcli.Exit) (substrat.FailureClass, string) {
	said := strings.TrimSpace(string(exit.Stderr) + "\n" + string(exit.Stdout))
	class, known := f.Exits[exit.Code]
	switch {
	case exit.Signal != "":
		return substrat.ClassCrashed, "the agent was ended by " + exit.Signal + " before its result"
	case known:
		return class, orElse(f.Detail(said, class), "the agent exited with code "+strconv.Itoa(exit.Code))
	case exit.Code == 0:
		if class, detail := f.Classify(said, ""); class == substrat.ClassTrust || class == substrat.ClassAuth {
			return class, detail
		}
		return substrat.ClassProtocol, "the agent exited as if all were well, without a result"
	case exit.Code == 127 || exit.Code == 126:
		return substrat.ClassNotInstalled, join("the agent could not be run: "+said, f.Install)
	case said == "" && partial.Session == "":
		return substrat.ClassAgent, "the agent exited with code " + strconv.Itoa(exit.Code) + " and printed nothing: " +
			"it may not be logged in, or fail before it reads its prompt; run `" + f.Program + "` by hand and look at what it prints"
	}
	class, detail := f.Classify(said, substrat.ClassAgent)
	if class == substrat.ClassAgent {
		detail = strings.TrimSuffix("the agent exited with code "+strconv.Itoa(exit.Code)+": "+detail, ": ")
	}
	return class, detail
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// join adds what to do to what was said.
func join(said, remedy string) string {
	switch {
	case remedy == "":
		return said
	case said == "":
		return remedy
	}
	return said + "; " + remedy
}
