package journaltest_test

import (
	"testing"

	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/journaltest"
)

// The model must pass the suite it is the model of.
func TestMemory(t *testing.T) {
	journaltest.Run(t,
		func(*testing.T) journal.Journal { return journaltest.NewMemory() },
		func(t *testing.T, j journal.Journal) journal.Journal {
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			j.(*journaltest.Memory).Reopen()
			return j
		})
}
