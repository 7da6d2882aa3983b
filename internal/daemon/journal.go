package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal/sqlite"
)

// VerifyJournal reads the whole journal of a home and reports all damage that it finds, or nil. It may run beside a daemon.
func VerifyJournal(ctx context.Context, home string) error {
	path := filepath.Join(home, "journal.db")
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return substrat.Errorf(substrat.CodeNotFound, "there is no journal at %s", path).WithHint("set SUBSTRAT_HOME to the home of a daemon")
	}
	j, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	return errors.Join(j.Verify(ctx), j.Close())
}
