package journal_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

func TestChecksumCoversEveryField(t *testing.T) {
	event := func() substrat.Event {
		return substrat.Event{
			Seq: 9, Team: "ab", TeamSeq: 3, Type: "cd", At: time.Unix(1, 2), Actor: "ef", Key: "gh",
			Data: json.RawMessage("ij"), Answer: json.RawMessage("kl"),
		}
	}
	original := event()
	seen := map[uint32]string{journal.Checksum(&original): "the original"}
	for name, change := range map[string]func(*substrat.Event){
		"seq":      func(e *substrat.Event) { e.Seq++ },
		"team":     func(e *substrat.Event) { e.Team = "aB" },
		"team_seq": func(e *substrat.Event) { e.TeamSeq++ },
		"type":     func(e *substrat.Event) { e.Type = "" },
		"at":       func(e *substrat.Event) { e.At = e.At.Add(1) },
		"actor":    func(e *substrat.Event) { e.Actor += "g" },
		"key":      func(e *substrat.Event) { e.Key = "h" },
		"data":     func(e *substrat.Event) { e.Data = json.RawMessage("ijk") },
		"answer":   func(e *substrat.Event) { e.Answer = nil },
		"borders":  func(e *substrat.Event) { e.Actor, e.Key = "efg", "h" },
	} {
		e := event()
		change(&e)
		sum := journal.Checksum(&e)
		if other, same := seen[sum]; same {
			t.Errorf("a change of %s has the checksum of %s", name, other)
		}
		seen[sum] = name
	}
}

// The checksum is a format: files in the field hold it.
func TestChecksumIsStable(t *testing.T) {
	e := substrat.Event{Seq: 1, Team: "lead", TeamSeq: 1, Type: "t", At: time.Unix(0, 5), Data: json.RawMessage("{}")}
	const want = 0x81788948
	if got := journal.Checksum(&e); got != want {
		t.Errorf("the checksum is %#x, not %#x", got, want)
	}
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 }))
		p := journal.Position{At: rapid.Int64().Draw(t, "at"), Kind: text.Draw(t, "kind"), ID: text.Draw(t, "id")}
		if got, err := journal.ParseCursor(p.Cursor()); err != nil || got != p {
			t.Fatalf("%+v came back as %+v, %v", p, got, err)
		}
	})
}

func FuzzParseCursor(f *testing.F) {
	f.Add(journal.Position{At: 1, Kind: "turn", ID: "x"}.Cursor())
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := journal.ParseCursor(s)
		if err != nil {
			if substrat.CodeOf(err) != substrat.CodeInvalid {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if again, err := journal.ParseCursor(p.Cursor()); err != nil || again != p {
			t.Fatalf("%q is %+v and then %+v, %v", s, p, again, err)
		}
	})
}

func TestTimesKeepTheirNanoseconds(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(0, 1).UTC(), time.Unix(0, -1<<63).UTC(), time.Unix(0, 1<<63-1).UTC()} {
		if got := journal.Time(journal.Nanos(at)); !got.Equal(at) {
			t.Errorf("%s came back as %s", at, got)
		}
	}
}
