package schedule

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"substrat.dev/substrat"
)

const second = time.Second

// failed notes a failure of a turn that took a second.
func failed(s []Streak, class substrat.FailureClass, at time.Time) []Streak {
	return Note(s, Outcome{Account: "acc", Class: class, Began: at.Add(-second), Ended: at})
}

func worked(s []Streak, began, ended time.Time) []Streak {
	return Note(s, Outcome{Account: "acc", Began: began, Ended: ended})
}

// one gives the only hold.
func one(t *testing.T, now time.Time, s []Streak) Hold {
	t.Helper()
	h := Holds(now, s)
	if len(h) != 1 {
		t.Fatalf("%d holds: %+v", len(h), h)
	}
	return h[0]
}

func none(t *testing.T, now time.Time, s []Streak) {
	t.Helper()
	if h := Holds(now, s); len(h) != 0 {
		t.Fatalf("holds: %+v", h)
	}
}

func within(t *testing.T, what string, got, least, most time.Duration) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s: %v, want %v to %v", what, got, least, most)
	}
}

func TestLimitGrows(t *testing.T) {
	for _, class := range []substrat.FailureClass{substrat.ClassQuota, substrat.ClassRateLimit} {
		var s []Streak
		now := noon
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			s = failed(s, class, now)
			h := one(t, now, s)
			within(t, fmt.Sprint(class, " round ", i), h.Until.Sub(now), want*time.Minute*8/10, want*time.Minute)
			if h.Probe || h.Class != class {
				t.Errorf("%+v", h)
			}
			now = h.Until.Add(2 * second)
		}
		// It works again: nothing is left of it.
		s = worked(s, now, now.Add(second))
		now = now.Add(time.Minute)
		none(t, now, s)
		within(t, "after a success", one(t, now, failed(s, class, now)).Until.Sub(now), 48*second, time.Minute)
	}
}

// Many turns that fail together are one failure.
func TestOneStormIsOneRound(t *testing.T) {
	var s []Streak
	for i := range 20 {
		s = failed(s, substrat.ClassRateLimit, noon.Add(time.Duration(i)*second))
	}
	within(t, "until", one(t, noon.Add(20*second), s).Until.Sub(noon), 48*second, time.Minute)
	// But one of them may know when it ends.
	named := noon.Add(time.Hour)
	s = Note(s, Outcome{Account: "acc", Class: substrat.ClassRateLimit, Ended: noon.Add(20 * second), Named: named})
	if h := one(t, noon.Add(20*second), s); !h.Until.Equal(named) {
		t.Errorf("%+v", h)
	}
	for range 100 {
		s = failed(s, substrat.ClassRateLimit, noon.Add(21*second))
	}
	if n := len(s[0].Refusals); n != StreakKeeps {
		t.Errorf("%d failures are kept", n)
	}
}

func TestNamedReset(t *testing.T) {
	named := noon.Add(3 * time.Hour)
	s := Note(nil, Outcome{Account: "acc", Class: substrat.ClassQuota, Ended: noon, Named: named, Detail: "resets at 3pm"})
	if h := one(t, noon, s); !h.Until.Equal(named) || h.Detail != "resets at 3pm" {
		t.Errorf("%+v", h)
	}
	// A turn that was under way and ends well does not lift it; one that began after does.
	s = worked(s, noon.Add(-second), noon.Add(second))
	if h := one(t, noon.Add(2*second), s); !h.Until.Equal(named) {
		t.Errorf("%+v", h)
	}
	// It stays for the stagger when it has passed, also when the first has ended well.
	s = worked(s, named.Add(second), named.Add(2*second))
	if h := one(t, named.Add(3*second), s); !h.Until.Equal(named) {
		t.Errorf("%+v", h)
	}
	none(t, named.Add(Stagger), s)
	// An end that is named too soon again and again is not believed.
	s, now := nil, noon
	for range 10 {
		s = Note(s, Outcome{Account: "acc", Class: substrat.ClassRateLimit, Ended: now, Named: now.Add(time.Millisecond)})
		h := one(t, now, s)
		now = h.Until.Add(second)
	}
	within(t, "ten rounds", now.Sub(noon), 3*time.Minute, 10*time.Minute)
}

func TestAuthUntilResumed(t *testing.T) {
	s := failed(nil, substrat.ClassAuth, noon)
	if h := one(t, noon.Add(100*time.Hour), s); !h.Until.IsZero() {
		t.Errorf("%+v", h)
	}
	resumed := noon.Add(time.Hour)
	s = Resume(s, "acc", resumed)
	if h := one(t, resumed.Add(second), s); !h.Until.Equal(resumed) {
		t.Errorf("those that waited come one by one: %+v", h)
	}
	none(t, resumed.Add(Stagger), s)
	// A turn from before fails with the old login; a new one is news.
	s = Note(s, Outcome{Account: "acc", Class: substrat.ClassAuth, Began: noon, Ended: resumed.Add(time.Minute)})
	none(t, resumed.Add(time.Minute), s)
	s = failed(s, substrat.ClassAuth, resumed.Add(2*time.Minute))
	if h := one(t, resumed.Add(time.Hour), s); !h.Until.IsZero() {
		t.Errorf("%+v", h)
	}
	// Another team's person may have resumed it, or another team's turn may show that it works.
	for _, other := range [][]Streak{Resume(nil, "acc", noon.Add(9*time.Hour)), worked(nil, noon.Add(9*time.Hour), noon.Add(9*time.Hour+second))} {
		none(t, noon.Add(10*time.Hour), append(other, s...))
	}
}

func TestBreaker(t *testing.T) {
	var a, b []Streak
	all := func() []Streak { return append(append([]Streak{}, a...), b...) }
	now := noon
	for i := range breakerAfter - 1 {
		if i%2 == 0 {
			a = failed(a, substrat.ClassNetwork, now)
		} else {
			b = failed(b, substrat.ClassNetwork, now)
		}
		now = now.Add(second)
		none(t, now, all())
	}
	// Failures of another kind, or of another account, are not counted.
	a = Note(a, Outcome{Account: "acc", Class: substrat.ClassCrashed, Ended: now})
	a = Note(a, Outcome{Account: "other", Class: substrat.ClassNetwork, Ended: now})
	none(t, now, all())
	for round, want := range []time.Duration{30, 60, 120, 240, 480, 600, 600, 600} {
		b = failed(b, substrat.ClassNetwork, now)
		h := one(t, now, all())
		within(t, fmt.Sprint("round ", round), h.Until.Sub(now), want*second*8/10, want*second)
		// What was under way and fails as well does not lengthen it.
		a = failed(a, substrat.ClassNetwork, now.Add(second))
		if again := one(t, now, all()); !again.Until.Equal(h.Until) || !again.Probe {
			t.Errorf("round %d: %+v became %+v", round, h, again)
		}
		now = h.Until.Add(5 * second)
		if h := one(t, now.Add(100*time.Hour), all()); !h.Probe {
			t.Errorf("it waits for a probe: %+v", h)
		}
	}
	// Whichever team's turn goes well closes it, also one that began before.
	a = worked(a, noon, now)
	if h := one(t, now.Add(second), all()); h.Probe || !h.Until.Equal(now) {
		t.Errorf("those that waited come one by one: %+v", h)
	}
	now = now.Add(Stagger)
	none(t, now, all())
	for range breakerAfter - 1 {
		b = failed(b, substrat.ClassNetwork, now)
		none(t, now, all())
	}
}

// Whatever teams see in whatever order, holds stay within their bounds, and a person can lift every one.
func TestHoldsInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		teams := make([][]Streak, 3)
		now := noon
		classes := append([]substrat.FailureClass{"", substrat.ClassAgent}, counted...)
		for range rapid.IntRange(1, 120).Draw(t, "outcomes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * second)
			i := rapid.IntRange(0, 2).Draw(t, "team")
			o := Outcome{Account: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "account"), Class: rapid.SampledFrom(classes).Draw(t, "class"),
				Began: now.Add(-time.Duration(rapid.IntRange(0, 600).Draw(t, "took")) * second), Ended: now}
			if rapid.Bool().Draw(t, "named") {
				o.Named = now.Add(time.Duration(rapid.IntRange(-100, 1000).Draw(t, "reset")) * second)
			}
			teams[i] = Note(teams[i], o)
			var all []Streak
			for _, s := range teams {
				all = append(all, s...)
			}
			seen := map[string]bool{}
			for _, h := range Holds(now, all) {
				key := h.Account + string(h.Class)
				if seen[key] {
					t.Fatalf("two holds for %s", key)
				}
				seen[key] = true
				if h.Until.After(now.Add(limitMost)) || h.Until.IsZero() && h.Class != substrat.ClassAuth {
					t.Fatalf("%v: %+v", now, h)
				}
			}
			for _, account := range []string{"x", "y"} {
				all = Resume(all, account, now)
			}
			for _, h := range Holds(now, all) {
				if h.Until.After(now) || h.Until.IsZero() || h.Probe {
					t.Fatalf("resumed at %v, and yet: %+v", now, h)
				}
			}
			for _, s := range all {
				if len(s.Refusals) > StreakKeeps {
					t.Fatalf("%d failures are kept", len(s.Refusals))
				}
			}
		}
	})
}
