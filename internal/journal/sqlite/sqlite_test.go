package sqlite_test

import (
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/journaltest"
	"substrat.dev/substrat/internal/journal/sqlite"
)

func TestConformance(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var paths sync.Map // journal to path
	open := func(t *testing.T, path string) journal.Journal {
		j, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		paths.Store(j, path)
		return j
	}
	journaltest.Run(t,
		func(t *testing.T) journal.Journal { return open(t, filepath.Join(t.TempDir(), "state", "journal.db")) },
		func(t *testing.T, j journal.Journal) journal.Journal {
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			path, _ := paths.Load(j)
			return open(t, path.(string))
		})
}
