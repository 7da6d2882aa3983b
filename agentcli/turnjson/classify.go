package turnjson

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"substrat.dev/substrat"
)

// sign is a text by which a failure is known. The first that fits decides, so that the special stand before the general.
type sign struct {
	class substrat.FailureClass
	fits  func() *regexp.Regexp
}

// in compiles a pattern when it is first used.
func in(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) })
}

// codes are the words of error codes, taken apart at what is no letter or digit.
var codes = []sign{
	{substrat.ClassCancelled, in(`\b(cancel|canceled|cancelled|aborted)\b`)},
	{substrat.ClassQuota, in(`\b(quota|billing|payment|credits?|402)\b|\busage limit\b|\binsufficient funds\b`)},
	{substrat.ClassRateLimit, in(`\brate\b|\bthrottl|\b429\b|\boverloaded\b|\bresource exhausted\b|\btoo many\b`)},
	{substrat.ClassAuth, in(`\bauth|\bunauth|\b401\b|\bforbidden\b|\bcredentials?\b|\btoken expired\b|\bapi key\b|\blogin\b`)},
	{substrat.ClassTimeout, in(`\btime ?out\b|\btimed out\b|\bdeadline\b`)},
	{substrat.ClassNetwork, in(`\bnetwork\b|\btransport\b|\bconnection\b|\bunavailable\b|\bec(onn\w+)\b|\benotfound\b|\betimedout\b|\b50[234]\b`)},
	{substrat.ClassProtocol, in(`\bprotocol\b|\bproto\b|\bversion unsupported\b`)},
	{substrat.ClassSession, in(`\bsession\b`)},
	{substrat.ClassModel, in(`\bmodel\b`)},
}

// signs are what CLIs and their users report of failures.
var signs = []sign{
	{substrat.ClassTrust, in(`workspace trust required|not trusted`)},
	{substrat.ClassQuota, in(`usage limit|out of (usage|credits)|spend limit|quota exceeded|insufficient.quota|payment required|plan limit`)},
	{substrat.ClassRateLimit, in(`rate.?limit|too many requests|\b429\b|resource_exhausted|overloaded`)},
	{substrat.ClassAuth, in(`auth(entication)? (failed|required|error)|not logged in|not authenticated|api key (is )?(invalid|missing|expired)|invalid api key|unauthenticated|unauthorized|token (is |has )?expired|please (log|sign) in|\b401\b`)},
	{substrat.ClassSession, in(`session not found|unknown session|no such (chat|session)`)},
	{substrat.ClassModel, in(`cannot use this model|model not found|unknown model|invalid model|no such model|model .{0,60}(is )?(not available|unavailable|not supported)`)},
	{substrat.ClassLocked, in(`database is locked|sqlite_busy|sqlite_locked`)},
	{substrat.ClassTimeout, in(`\btimed out\b|deadline exceeded|request timeout`)},
	{substrat.ClassNetwork, in(`etimedout|econnrefused|econnreset|enotfound|eai_again|network (error|is unreachable)|connection (lost|reset|refused|error|closed)|socket hang up|getaddrinfo|transport error|bad gateway|service unavailable|no route to host`)},
	{substrat.ClassNotInstalled, in(`command not found|cannot find module|: not found$`)},
}

// notWord is what error codes join their words with.
var notWord = regexp.MustCompile(`[^A-Za-z0-9]+`)

// classify finds the class of a failure by the code that a CLI gave it, or else by what it said.
func classify(code, said string, otherwise substrat.FailureClass) substrat.FailureClass {
	if code != "" {
		words := notWord.ReplaceAllString(code, " ")
		for _, s := range codes {
			if s.fits().MatchString(words) {
				// An error of the model's account is named after the model: MODEL_AUTH_ERROR. One of the model alone is last.
				return s.class
			}
		}
	}
	for _, s := range signs {
		if s.fits().MatchString(said) {
			return s.class
		}
	}
	return otherwise
}

// retryText finds how long a provider wants to be left alone in what it says.
var retryText = in(`(?:retry|try again)[- ]?(?:after|in)[:= ]+(\d+(?:\.\d+)?) ?(ms|milliseconds?|m\b|min\w*|s\b|sec\w*|h\b|hours?)?`)

// retryAfterMost bounds it: what is longer is a mistake, or for a person to decide.
const retryAfterMost = 24 * 60 * 60 * 1000

// retryAfter gives the milliseconds, 0 if the provider does not say.
func retryAfter(data map[string]json.RawMessage, said string) int64 {
	for _, key := range []string{"retryAfterMs", "retry_after_ms"} {
		if n, ok := integer(data[key]); ok {
			return min(n, retryAfterMost)
		}
	}
	for _, key := range []string{"retryAfter", "retry_after", "retryAfterSeconds"} {
		raw := strings.Trim(string(data[key]), `"`)
		if n, err := strconv.ParseFloat(raw, 64); err == nil && n >= 0 {
			return int64(min(n*1000, retryAfterMost))
		}
	}
	m := retryText().FindStringSubmatch(said)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0
	}
	unit := 1000.0
	switch u := strings.ToLower(m[2]); {
	case strings.HasPrefix(u, "ms"), strings.HasPrefix(u, "milli"):
		unit = 1
	case strings.HasPrefix(u, "m"):
		unit = 60_000
	case strings.HasPrefix(u, "h"):
		unit = 3_600_000
	}
	return int64(min(n*unit, retryAfterMost))
}
