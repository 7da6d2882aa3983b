package journal

import (
	"strings"
	"time"
	"unicode/utf8"

	"substrat.dev/substrat"
)

// The times that fit an int64 of nanoseconds.
var (
	firstTime = time.Unix(0, -1<<63)
	lastTime  = time.Unix(0, 1<<63-1)
)

// CheckBatches reports the first thing about the form of an Append that no store may accept, with CodeInvalid. It fills
// in the Team of docs that have none. Stores call it before they touch anything.
func CheckBatches(batches []Batch) error {
	for i := range batches {
		if err := checkBatch(&batches[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkBatch(b *Batch) error {
	if err := checkName("team", b.Team); err != nil {
		return err
	}
	if b.Expect < 0 || b.Epoch < 0 {
		return invalid("team %s: expect %d and epoch %d must not be negative", b.Team, b.Expect, b.Epoch)
	}
	for i := range b.Events {
		if err := checkEvent(b, i); err != nil {
			return err
		}
	}
	for i := range b.Docs {
		if err := checkDoc(b, &b.Docs[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkEvent(b *Batch, i int) error {
	e := &b.Events[i]
	if e.Team != b.Team {
		return invalid("an event of team %q in a batch of team %q", e.Team, b.Team)
	}
	if want := b.Expect + 1 + int64(i); e.TeamSeq != want {
		return invalid("team %s: event %d of the batch has team_seq %d, not %d", b.Team, i, e.TeamSeq, want)
	}
	if err := checkName("type", e.Type); err != nil {
		return err
	}
	if err := checkTexts("event of team "+b.Team, e.Actor, e.Key); err != nil {
		return err
	}
	return checkTime(e.At)
}

func checkDoc(b *Batch, d *Doc) error {
	if d.Team == "" {
		d.Team = b.Team
	}
	if d.Team != b.Team {
		return invalid("a doc of team %q in a batch of team %q", d.Team, b.Team)
	}
	if err := checkName("doc kind", d.Kind); err != nil {
		return err
	}
	if err := checkName("doc id", d.ID); err != nil {
		return err
	}
	if err := checkTexts("doc "+d.ID, d.Agent, d.Path, d.State); err != nil {
		return err
	}
	return checkTime(d.At)
}

// CheckSnapshots is CheckBatches for SaveSnapshots.
func CheckSnapshots(snapshots []Snapshot) error {
	for _, s := range snapshots {
		if err := checkName("team", s.Team); err != nil {
			return err
		}
		if s.TeamSeq <= 0 {
			return invalid("a snapshot of team %s after event %d", s.Team, s.TeamSeq)
		}
	}
	return nil
}

// CheckLease is CheckBatches for Lease.
func CheckLease(holder string, ttl time.Duration) error {
	if ttl < 0 {
		return invalid("a lease of %s", ttl)
	}
	return checkName("holder", holder)
}

func checkName(what, s string) error {
	if s == "" {
		return invalid("%s is empty", what)
	}
	return checkTexts(what, s)
}

func checkTexts(what string, texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
			return invalid("%s: %q is not UTF-8 without NUL", what, s)
		}
	}
	return nil
}

func checkTime(t time.Time) error {
	if !t.IsZero() && (t.Before(firstTime) || t.After(lastTime)) {
		return invalid("the time %s is outside the years 1678 to 2262", t.Format(time.RFC3339))
	}
	return nil
}

func invalid(format string, args ...any) error {
	return substrat.Errorf(substrat.CodeInvalid, "cannot write to the journal: "+format, args...)
}
