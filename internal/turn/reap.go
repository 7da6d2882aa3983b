package turn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"substrat.dev/substrat"
)

// ReapMarked makes sure that nothing lives whose environment holds Marker with this id, nor what that started. It is for processes
// that were marked like a turn's, without being one.
func ReapMarked(ctx context.Context, id string) error {
	if !wellFormed(id) {
		return substrat.Errorf(substrat.CodeInvalid, "cannot reap %q: the id is malformed", id)
	}
	return reap(ctx, id, nil)
}

// Reap makes sure that nothing of a turn lives whose shim was lost. In a sandbox the kernel has done it already, by
// bwrap's --die-with-parent; a bare process dies with its shim too, but what it had started does not.
//
// What counts as the turn's: processes whose environment holds Marker with exactly the turn's id, what they have
// started, and the recorded processes where pid, start time and boot agree. Nothing is killed by its pid alone. A process that has cleared
// its environment and lost its parent before is not found: that is why bare turns are called unsafe.
//
// It gives code conflict while the shim lives, and ctx's error when ctx ends before everything is gone. It may be repeated.
func Reap(ctx context.Context, dir string) error {
	held, err := lockHeld(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // no lock: nothing was ever started
	case err != nil:
		return err
	case held:
		return substrat.Errorf(substrat.CodeConflict, "cannot reap the turn in %s: it is alive", dir)
	}
	id, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil {
		return fmt.Errorf("cannot reap the turn: %w", err)
	}
	var recorded []process
	var st status
	if readJSON(dir, statusName, &st) == nil && st.Boot != "" && st.Boot == bootID() {
		recorded = []process{st.Process, st.Init}
	}
	if err := reap(ctx, strings.TrimSpace(string(id)), recorded); err != nil {
		return fmt.Errorf("cannot reap the turn: %w", err)
	}
	return nil
}
