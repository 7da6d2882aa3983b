package schedule

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ResetMost is the farthest a reset may lie ahead to be believed: a monthly cycle.
const ResetMost = 31 * 24 * time.Hour

const (
	resetReads = 4096             // of a provider's words
	resetStale = 10 * time.Minute // a time of day that passed so lately means that, not tomorrow's
)

// Zones finds a time zone by its name, like time.LoadLocation.
type Zones func(name string) (*time.Location, error)

// ParseReset finds in a provider's words when its limit ends. What names no zone is in now's. The answer is after now
// and at most ResetMost after it; a text that names no such time gives false. zones may be nil: names other than the
// common abbreviations are then unknown.
func ParseReset(detail string, now time.Time, zones Zones) (time.Time, bool) {
	if len(detail) > resetReads {
		detail = detail[:resetReads]
	}
	r := reader{text: detail, now: now, zones: zones}
	// The exact before the vague.
	for _, read := range []func() (time.Time, bool){r.stamp, r.header, r.epoch, r.wait, r.calendar, r.clock, r.date} {
		if t, ok := read(); ok {
			return t, true
		}
	}
	return time.Time{}, false
}

// reader reads one text.
type reader struct {
	text  string
	now   time.Time
	zones Zones
}

func (r *reader) good(t time.Time) bool {
	return t.After(r.now) && !t.After(r.now.Add(ResetMost))
}

// pattern is compiled when it is first used: every process of the program begins with this package, and few read a reset.
func pattern(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)` + s) })
}

const (
	// about stands before a time that is a reset, and not any other.
	about   = `\b(?:resets?(?:[ _-]?(?:at|time|in))?|resetting|renews?|try(?:ing)? again|retry(?:ing)?|available|unblocked|wait|until|(?:cycle|period) ends?)\b`
	daytime = `(\d{1,2})(?::(\d{2})(?::\d{2})?)?(?:[ ]?([ap])\.?m\b\.?)?`
	zone    = `(?:[ ]*\(?([A-Z][A-Za-z]+(?:[/_+-][A-Za-z0-9]+)*)\)?)?`
	month   = `\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?[ ](\d{1,2})(?:st|nd|rd|th)?\b(?:,?[ ](\d{4})\b)?`
	weekday = `\b(sun|mon|tue|wed|thu|fri|sat)[a-z]*\b`
)

var (
	stamps = pattern(`\b(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)\d*[ ]?(Z|UTC|GMT|[+-]\d{2}:?\d{2})?`)
	mails  = pattern(`\b(?:mon|tue|wed|thu|fri|sat|sun), (\d{2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2}) GMT`)
	epochs = pattern(`(?:reset|retry|limit reached)[^0-9\n]{0,24}(\d{13}|\d{10})\b`)
	bare   = pattern(`retry[-_ ]?(?:after|delay)([-_ ]?ms)?["'\s:=]{1,4}(\d{1,9}(?:\.\d{1,9})?)(\D|$)`)
	waits  = pattern(about + `["']?(?:[ :=~"']|\b(?:in|after|for|about|approximately|another)\b){0,12}`)
	amount = pattern(`^(?:[ ,]|\band\b){0,6}(an?\b|\d{1,9}(?:\.\d{1,9})?)[ ]?(milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)`)

	calendars = pattern(about + `[^.\n]{0,40}?` + month + `(?:(?:,|[ ]at|[ ]@)?[ ]` + daytime + `(?-i:` + zone + `))?`)
	clocks    = pattern(about + `(?:[ :]|\b(?:at|on|is|will be|today|tomorrow)\b){0,6}(?:` + weekday + `(?:,|[ ]at)?[ ])?` + daytime + `(?-i:` + zone + `)`)
	weekdays  = pattern(about + `(?:[ :]|\b(?:at|on|next)\b){0,6}` + weekday)
	slashed   = pattern(about + `[^.\n]{0,40}?\b(\d{1,2})/(\d{1,2})/(\d{4})\b`)
	dashed    = pattern(about + `[^.\n]{0,40}?\b(\d{4})-(\d{2})-(\d{2})\b`)
)

// stamp reads 2026-01-02T15:04:05Z and its likes. Without a zone such a time is UTC: a program wrote it.
func (r *reader) stamp() (time.Time, bool) {
	for _, m := range stamps().FindAllStringSubmatch(r.text, 16) {
		clock, offset := m[2], strings.ReplaceAll(m[3], ":", "")
		if len(clock) == len("15:04") {
			clock += ":00"
		}
		if offset == "" || !strings.ContainsAny(offset[:1], "+-") {
			offset = "+0000"
		}
		if t, err := time.Parse("2006-01-02 15:04:05 -0700", m[1]+" "+clock+" "+offset); err == nil && r.good(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// header reads the date of an HTTP header.
func (r *reader) header() (time.Time, bool) {
	for _, m := range mails().FindAllStringSubmatch(r.text, 16) {
		if t, err := time.Parse("02 Jan 2006 15:04:05", m[1]); err == nil && r.good(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// epoch reads seconds or milliseconds since 1970.
func (r *reader) epoch() (time.Time, bool) {
	for _, m := range epochs().FindAllStringSubmatch(r.text, 16) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			continue
		}
		t := time.Unix(n, 0)
		if len(m[1]) == 13 {
			t = time.UnixMilli(n)
		}
		if r.good(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// wait reads "try again in 5 minutes 30 seconds", "resets in 3h", "retry-after: 30".
func (r *reader) wait() (time.Time, bool) {
	for _, at := range waits().FindAllStringIndex(r.text, 16) {
		if d := amounts(r.text[at[1]:]); d > 0 && r.good(r.now.Add(d)) {
			return r.now.Add(d), true
		}
	}
	for _, at := range bare().FindAllStringSubmatchIndex(r.text, 16) {
		if d := amounts(r.text[at[4]:]); d > 0 && r.good(r.now.Add(d)) {
			return r.now.Add(d), true
		}
		unit := float64(time.Second)
		if at[2] >= 0 {
			unit = float64(time.Millisecond)
		}
		n, err := strconv.ParseFloat(r.text[at[4]:at[5]], 64)
		if t := r.now.Add(time.Duration(min(n*unit, float64(2*ResetMost)))); err == nil && r.good(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// amounts adds up the durations a text begins with.
func amounts(s string) time.Duration {
	var sum float64
	for {
		m := amount().FindStringSubmatchIndex(s)
		if m == nil || m[1] < len(s) && letter(s[m[1]]) {
			break
		}
		n := 1.0 // "an hour"
		if c := s[m[2]]; c >= '0' && c <= '9' {
			n, _ = strconv.ParseFloat(s[m[2]:m[3]], 64)
		}
		sum += n * float64(unitOf(strings.ToLower(s[m[4]:m[5]])))
		s = s[m[1]:]
	}
	return time.Duration(min(sum, float64(2*ResetMost)))
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func unitOf(unit string) time.Duration {
	switch {
	case strings.HasPrefix(unit, "mil"), strings.HasPrefix(unit, "ms"):
		return time.Millisecond
	case unit[0] == 's':
		return time.Second
	case unit[0] == 'm':
		return time.Minute
	case unit[0] == 'h':
		return time.Hour
	case unit[0] == 'd':
		return 24 * time.Hour
	default:
		return 7 * 24 * time.Hour
	}
}
