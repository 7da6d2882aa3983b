//go:build failpoint

package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
)

// A process that dies right before a commit leaves nothing of it; one that dies right after leaves all of it, although
// nobody was told. So it goes at every write, until the child gets to its end.
func TestKillAtEveryCommit(t *testing.T) {
	for n := 1; ; n++ {
		path := filepath.Join(t.TempDir(), "journal.db")
		cmd, told := child(t, "few", path, fmt.Sprintf("SUBSTRAT_FAILPOINT=journal:%d", n))
		acked := map[string]int64{}
		for told.Scan() {
			acknowledge(t, acked, told.Text())
		}
		err := cmd.Wait()
		if err == nil {
			if n != 9 {
				t.Errorf("four writes have 8 failpoints; the child got to its end with %d", n-1)
			}
			return
		}
		untold := survived(t, path, acked)
		// The fourth write is a snapshot, which adds no event.
		if want := int64(1 - n%2); n <= 6 && untold != want {
			t.Errorf("killed at failpoint %d: %d appends nobody was told of, want %d", n, untold, want)
		}
	}
}
