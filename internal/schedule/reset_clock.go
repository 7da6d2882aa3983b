package schedule

import (
	"strconv"
	"strings"
	"time"
)

var (
	monthNames = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	dayNames   = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	// offsets are the abbreviations that zone databases do not know as names, in hours from UTC.
	offsets = map[string]int{"UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
		"CET": 1, "CEST": 2, "JST": 9}
)

func indexOf(names []string, name string) int {
	for i, n := range names {
		if strings.EqualFold(n, name) {
			return i
		}
	}
	return -1
}

// daytimeOf reads an hour, minute and a or p. A number alone is no time of day.
func daytimeOf(h, m, half string) (hour, minute int, ok bool) {
	if m == "" && half == "" {
		return 0, 0, false
	}
	hour, _ = strconv.Atoi(h)
	minute, _ = strconv.Atoi(m)
	switch strings.ToLower(half) {
	case "a", "p":
		if hour < 1 || hour > 12 {
			return 0, 0, false
		}
		hour %= 12
		if strings.EqualFold(half, "p") {
			hour += 12
		}
	}
	return hour, minute, hour < 24 && minute < 60
}

// location finds the zone a text names, now's if it names none. A word that follows is no zone unless it looks like one;
// one that looks like a zone and is unknown makes the time useless.
func (r *reader) location(name string) (*time.Location, bool) {
	if h, ok := offsets[name]; ok {
		return time.FixedZone(name, h*3600), true
	}
	if !strings.Contains(name, "/") {
		return r.now.Location(), true
	}
	if r.zones == nil || strings.Contains(name, "..") {
		return nil, false
	}
	at, err := r.zones(name)
	return at, err == nil && at != nil
}

// calendar reads "resets Oct 5 at 3pm (Asia/Seoul)", "try again at Apr 29th, 2026 9:55 PM", "cycle ends on January 2".
func (r *reader) calendar() (time.Time, bool) {
	for _, m := range calendars().FindAllStringSubmatch(r.text, 16) {
		at, ok := r.location(m[7])
		if !ok {
			continue
		}
		now := r.now.In(at)
		day, _ := strconv.Atoi(m[2])
		hour, minute, _ := daytimeOf(m[4], m[5], m[6])
		year, _ := strconv.Atoi(m[3])
		years := []int{year}
		if m[3] == "" { // in December a date of January is next year's
			years = []int{now.Year(), now.Year() + 1}
		}
		for _, y := range years {
			if t, ok := r.day(y, indexOf(monthNames, m[1])+1, day, at); ok {
				if t = time.Date(t.Year(), t.Month(), t.Day(), hour, minute, 0, 0, at); r.good(t) {
					return t, true
				}
			}
		}
	}
	return time.Time{}, false
}

// day makes the beginning of a day that exists.
func (r *reader) day(year, month, day int, at *time.Location) (time.Time, bool) {
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, at)
	return t, t.Day() == day && int(t.Month()) == month
}

// clock reads "resets 3pm", "try again at 12:16 PM", "resets Monday 10:00 (Asia/Dhaka)", "resets on Monday".
func (r *reader) clock() (time.Time, bool) {
	for _, m := range clocks().FindAllStringSubmatch(r.text, 16) {
		hour, minute, ok := daytimeOf(m[2], m[3], m[4])
		if !ok {
			continue
		}
		if at, ok := r.location(m[5]); ok {
			if t := r.next(indexOf(dayNames, m[1]), hour, minute, at); r.good(t) {
				return t, true
			}
		}
	}
	for _, m := range weekdays().FindAllStringSubmatch(r.text, 16) {
		if t := r.next(indexOf(dayNames, m[1]), 0, 0, r.now.Location()); r.good(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// next finds the next such time of day on a weekday, on any if that is negative. Zero if it has passed just now: who
// says so still means that, and not tomorrow.
func (r *reader) next(weekday, hour, minute int, at *time.Location) time.Time {
	now := r.now.In(at)
	for days := range 9 {
		t := time.Date(now.Year(), now.Month(), now.Day()+days, hour, minute, 0, 0, at)
		if weekday >= 0 && int(t.Weekday()) != weekday {
			continue
		}
		if t.After(now) {
			return t
		}
		if now.Sub(t) < resetStale {
			return time.Time{}
		}
	}
	return time.Time{}
}

// date reads "when your monthly cycle ends on 1/2/2027", month first, and 2027-01-02. A limit that ends today is gone
// tomorrow.
func (r *reader) date() (time.Time, bool) {
	var found [][3]string
	for _, m := range slashed().FindAllStringSubmatch(r.text, 16) {
		found = append(found, [3]string{m[3], m[1], m[2]})
	}
	for _, m := range dashed().FindAllStringSubmatch(r.text, 16) {
		found = append(found, [3]string{m[1], m[2], m[3]})
	}
	for _, f := range found {
		year, _ := strconv.Atoi(f[0])
		month, _ := strconv.Atoi(f[1])
		day, _ := strconv.Atoi(f[2])
		t, ok := r.day(year, month, day, r.now.Location())
		if !ok {
			continue
		}
		if tomorrow := t.AddDate(0, 0, 1); !t.After(r.now) && tomorrow.After(r.now) {
			t = tomorrow
		}
		if r.good(t) {
			return t, true
		}
	}
	return time.Time{}, false
}
