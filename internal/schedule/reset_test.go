package schedule

import (
	"testing"
	"time"
)

func TestParseReset(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip("this machine has no time zones")
	}
	now := time.Date(2026, 11, 21, 12, 0, 30, 0, newYork) // a Saturday
	at := func(month time.Month, day, hour, minute int) time.Time {
		year := 2026
		if month < time.November {
			year = 2027
		}
		return time.Date(year, month, day, hour, minute, 0, 0, newYork)
	}
	in := func(d time.Duration) time.Time { return now.Add(d) }
	var never time.Time
	for _, test := range []struct {
		text string
		want time.Time
	}{
		{"5-hour limit reached ∙ resets 2am", at(11, 22, 2, 0)},
		{"Your limit resets at 3pm", at(11, 21, 15, 0)},
		{"You've hit your limit · resets 8pm (America/New_York)", at(11, 21, 20, 0)},
		{"Weekly limit reached · resets 10am (Asia/Seoul) · /upgrade to Max", time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)},
		{"resets 1:30am (Asia/Dhaka)", time.Date(2026, 11, 21, 19, 30, 0, 0, time.UTC)},
		{"limit will reset at 9pm (UTC).", time.Date(2026, 11, 21, 21, 0, 0, 0, time.UTC)},
		{"resets 9pm PST", time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)},
		{"resets 9pm (Mars/Olympus)", never},
		{"You've hit your usage limit. To get more access now, send a request to your admin or try again at 12:16 PM.", at(11, 21, 12, 16)},
		{"available at 14:00", at(11, 21, 14, 0)},
		{"resets at noon", never},
		{"resets 12am", at(11, 22, 0, 0)},
		{"resets 12pm", never}, // half a minute ago: it means now
		{"resets 11:45 a.m.", at(11, 22, 11, 45)},
		{"resets 13pm", never},
		{"resets at 25:00", never},
		{"reset 3 and more", never},
		{"retry 3 times", never},
		{"resets Oct 5, 3pm", never}, // eleven months off
		{"resets Dec 5, 3pm", at(12, 5, 15, 0)},
		{"Your usage limit resets Nov 27 at 10:30am (America/New_York)", at(11, 27, 10, 30)},
		{"try again at Nov 29th, 2026 9:55 PM.", at(11, 29, 21, 55)},
		{"try again at Nov 31st, 2026 9:55 PM.", never},
		{"limits will reset on December 2", at(12, 2, 0, 0)},
		{"resets Monday 10:00", at(11, 23, 10, 0)},
		{"resets on Friday", at(11, 27, 0, 0)},
		{"resets Sat 11am", at(11, 28, 11, 0)},
		{"ActionRequiredError: You've hit your usage limit. Your usage limits will reset when your monthly cycle ends on 12/1/2026.", at(12, 1, 0, 0)},
		{"Your usage limits will reset when your monthly cycle ends on 11/21/2026", at(11, 22, 0, 0)},
		{"Your usage limits will reset when your monthly cycle ends on 1/2/2027", never}, // farther than a month
		{"Your usage limits will reset when your monthly cycle ends on 13/1/2026", never},
		{"the period ends 2026-12-03", at(12, 3, 0, 0)},
		{"Upgrade to Pro (https://example.com/pricing) or try again in 2 days 17 hours 14 minutes.", in(65*time.Hour + 14*time.Minute)},
		{"Please try again in 20s.", in(20 * time.Second)},
		{"Please try again in 5m30.5s. Visit", in(5*time.Minute + 30*time.Second + 500*time.Millisecond)},
		{"try again in 28ms", in(28 * time.Millisecond)},
		{"Try again in 12 minutes", in(12 * time.Minute)},
		{"try again in about an hour", in(time.Hour)},
		{"resets in 3h", in(3 * time.Hour)},
		{"resets in 1 hour, 5 minutes and 2 seconds", in(time.Hour + 5*time.Minute + 2*time.Second)},
		{"wait for 30 seconds", in(30 * time.Second)},
		{"try again in 40 days", never},
		{"try again in 0 seconds", never},
		{"try again in 99999999999999 hours", never},
		{"retry-after: 30", in(30 * time.Second)},
		{"HTTP 429, Retry-After=120\nx", in(2 * time.Minute)},
		{`{"retry_after": 1.5}`, in(1500 * time.Millisecond)},
		{`{"error":{"code":429,"details":[{"retryDelay":"24.5s"}]}}`, in(24*time.Second + 500*time.Millisecond)},
		{"retry-after-ms: 700", in(700 * time.Millisecond)},
		{"Retry-After: Sun, 22 Nov 2026 07:28:00 GMT", time.Date(2026, 11, 22, 7, 28, 0, 0, time.UTC)},
		{`"resets_at":"2026-11-22T19:59:59.600956+00:00"`, time.Date(2026, 11, 22, 19, 59, 59, 600956000, time.UTC)},
		{"limit resets at 2026-11-22 19:59 UTC", time.Date(2026, 11, 22, 19, 59, 0, 0, time.UTC)},
		{"at 2026-11-20T10:00:00Z: quota exceeded, reset 2026-11-22T10:00:00+01:00", time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)},
		{"at 2026-11-20T10:00:00Z: quota exceeded", never},
		{"Claude AI usage limit reached|1795500000", time.Unix(1795500000, 0)},
		{"x-ratelimit-reset: 1795500000123", time.UnixMilli(1795500000123)},
		{"x-ratelimit-reset: 1700000000", never},
		{"request 1795500000 failed", never},
		{"[resource_exhausted] Error", never},
		{"Please try again later.", never},
		{"", never},
	} {
		got, ok := ParseReset(test.text, now, time.LoadLocation)
		if ok == test.want.IsZero() || ok && !got.Equal(test.want) {
			t.Errorf("%q: got %v %v, want %v", test.text, got, ok, test.want)
		}
	}
	if got, ok := ParseReset("resets 8pm (America/New_York)", now, nil); ok {
		t.Errorf("without zones: %v", got)
	}
}

func FuzzParseReset(f *testing.F) {
	for _, s := range []string{"resets 3pm", "try again in 2 days 17 hours", "retry-after: 30", "resets Dec 5, 3pm (Asia/Seoul)", "cycle ends on 1/2/2027",
		"2026-11-22T10:00:00+01:00", "limit reached|1795500000", "resets Feb 30", "resets Monday 10:00"} {
		f.Add(s, int64(1795300000))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		now := time.Unix(unix%(1<<36), 0).UTC()
		got, ok := ParseReset(text, now, time.LoadLocation)
		if ok && (!got.After(now) || got.After(now.Add(ResetMost))) {
			t.Errorf("%q at %v: %v", text, now, got)
		}
	})
}
