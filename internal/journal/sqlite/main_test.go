package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/sqlite"
)

// The tests of crashes run this test binary again as a child that appends, tells what was acknowledged on its standard
// output, and dies. Every append of a child writes one event each to two teams, NAME and NAME-twin, and a doc.
const (
	childMode = "SUBSTRAT_JOURNAL_CHILD"
	childPath = "SUBSTRAT_JOURNAL_PATH"
)

func TestMain(m *testing.M) {
	children := map[string]func(*sqlite.Journal) error{"crowd": crowd, "few": few, "limited": limited}
	mode := os.Getenv(childMode)
	if mode == "" {
		os.Exit(m.Run())
	}
	j, err := sqlite.Open(context.Background(), os.Getenv(childPath), sqlite.Options{CheckpointBytes: 1 << 20})
	if err == nil {
		err = errors.Join(children[mode](j), j.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// twin makes the append that brings a team and its twin from head to head+1.
func twin(team string, head int64) []journal.Batch {
	b := batchOf(team, head, 1)
	b.Docs = []journal.Doc{{Kind: "turn", ID: fmt.Sprint(team, head+1), At: b.Events[0].At}}
	return []journal.Batch{b, batchOf(team+"-twin", head, 1)}
}

// appendTwin appends and, only then, tells. One line is one write to the pipe.
func appendTwin(j *sqlite.Journal, team string, head int64) error {
	if _, _, err := j.Append(context.Background(), twin(team, head)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(os.Stdout, "%s %d\n", team, head+1)
	return err
}

// crowd appends for four teams at once, with snapshots in between, until it is killed.
func crowd(j *sqlite.Journal) error {
	heads, err := headsOf(context.Background(), j)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			team := fmt.Sprint("team", i)
			for head := heads[team]; errs[i] == nil; head++ {
				errs[i] = appendTwin(j, team, head)
				if head%20 == 19 && errs[i] == nil {
					errs[i] = j.SaveSnapshots(context.Background(), []journal.Snapshot{{Team: team, TeamSeq: head}})
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// headsOf gives the last TeamSeq of each team.
func headsOf(ctx context.Context, j *sqlite.Journal) (map[string]int64, error) {
	heads := map[string]int64{}
	err := j.Load(ctx,
		func(s journal.Snapshot) error { heads[s.Team] = s.TeamSeq; return nil },
		func(e substrat.Event) error { heads[e.Team] = e.TeamSeq; return nil })
	return heads, err
}

// few does a fixed number of writes and ends.
func few(j *sqlite.Journal) error {
	for head := range int64(3) {
		if err := appendTwin(j, "team0", head); err != nil {
			return err
		}
	}
	return j.SaveSnapshots(context.Background(), []journal.Snapshot{{Team: "team0", TeamSeq: 2}})
}

// child starts this binary again.
func child(t *testing.T, mode, path string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), childMode+"="+mode, childPath+"="+path), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// acknowledge reads what a child told.
func acknowledge(t *testing.T, acked map[string]int64, line string) {
	t.Helper()
	var team string
	var seq int64
	if _, err := fmt.Sscanf(line, "%s %d", &team, &seq); err != nil {
		t.Fatalf("a child said %q: %v", line, err)
	}
	acked[team] = max(acked[team], seq)
}

// survived checks the journal a child left: nothing acknowledged is missing, nothing is there by half. It gives the
// number of appends that are there although nobody was told.
func survived(t *testing.T, path string, acked map[string]int64) (untold int64) {
	t.Helper()
	j := open(t, path, sqlite.Options{})
	defer func() { _ = j.Close() }()
	if err := j.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	heads, err := headsOf(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	for team, seq := range acked {
		if heads[team] < seq {
			t.Errorf("%s: event %d was acknowledged, the journal ends at %d", team, seq, heads[team])
		}
	}
	for team, head := range heads {
		if strings.HasSuffix(team, "-twin") {
			continue
		}
		untold += head - acked[team]
		if heads[team+"-twin"] != head {
			t.Errorf("%s ends at %d and its twin at %d: half an append", team, head, heads[team+"-twin"])
		}
		if _, err := j.Doc(t.Context(), "turn", fmt.Sprint(team, head)); err != nil {
			t.Errorf("%s: the doc of its last append: %v", team, err)
		}
	}
	return untold
}
