package cursor

import (
	"bufio"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat/agentcli"
)

const writerEnv = "SUBSTRAT_TEST_HISTORY_STORE"

// TestHistoryWriterProcess is the writer of TestHistoryWhileWritten, in a process of its own. It waits for nobody: any lock
// that is in its way is an error.
func TestHistoryWriterProcess(t *testing.T) {
	path := os.Getenv(writerEnv)
	if path == "" {
		return // nothing is tested here: it is a program for the other test
	}
	stop := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(stop) }()
	commits := 0
	pace := time.NewTicker(time.Millisecond / 2) // far faster than a CLI, and not so fast that the log never lasts for a copy
	defer pace.Stop()
	for generation := 0; ; generation++ {
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(0)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=wal_autocheckpoint(40)")
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		if _, err := db.Exec(strings.ReplaceAll(realSchema, "TABLE", "TABLE IF NOT EXISTS")); err != nil {
			t.Fatal(err)
		}
		var ids [][32]byte
		for i := range 60 {
			ids = append(ids, writeOne(t, db, generation, i, ids))
			if commits++; commits == 1 {
				fmt.Println("writing")
			}
			select {
			case <-stop:
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				fmt.Println("commits", commits)
				return
			case <-pace.C:
			}
			if i%25 == 24 {
				var busy, log, done int
				if err := db.QueryRow(`PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &done); err != nil || busy != 0 {
					t.Fatalf("a checkpoint was in somebody's way: busy %d, %v", busy, err)
				}
			}
		}
		// The last one to close removes the log, unless somebody is in the way.
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path + "-wal"); err == nil {
			t.Fatal("the log stays: somebody had the store open")
		}
	}
}

// writeOne commits one message of a generation; its first removes what the one before left.
func writeOne(t *testing.T, db *sql.DB, generation, i int, before [][32]byte) [32]byte {
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	do := func(q string, args ...any) {
		if _, err := tx.Exec(q, args...); err != nil {
			t.Fatal(err)
		}
	}
	if i == 0 {
		do(`DELETE FROM blobs`)
	}
	put := func(data []byte) [32]byte {
		id := sha256.Sum256(data)
		do(`INSERT OR REPLACE INTO blobs VALUES (?, ?)`, hex.EncodeToString(id[:]), data)
		return id
	}
	id := put(fmt.Appendf(nil, `{"role":"user","content":"%d/%d %s"}`, generation, i, strings.Repeat("x", i*150)))
	root := put((&handmade{}).root(append(before[:len(before):len(before)], id)...))
	meta := fmt.Sprintf(`{"latestRootBlobId":"%x","name":"%d"}`, root, generation)
	do(`INSERT OR REPLACE INTO meta VALUES ('0', ?)`, hex.EncodeToString([]byte(meta)))
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestHistoryWhileWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	cmd := exec.Command(os.Args[0], "-test.run=^TestHistoryWriterProcess$", "-test.v")
	cmd.Env = append(os.Environ(), writerEnv+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "writing" {
	}
	generations, seen := map[string]bool{}, 0
	for range 200 {
		s, list, err := load(t, agentcli.HistoryOptions{}, path)
		if err != nil {
			t.Errorf("a live store: %v", err)
			break
		}
		generations[s.Title] = true
		for i, m := range list {
			if !strings.HasPrefix(m.Text(), fmt.Sprintf("%s/%d ", s.Title, i)) {
				t.Fatalf("message %d of generation %s is %.20q", i, s.Title, m.Text())
			}
		}
		seen += len(list)
	}
	_ = in.Close()
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the writer was disturbed: %v\n%s", err, strings.Join(said, "\n"))
	}
	if len(generations) < 2 || seen < 200 {
		t.Errorf("%d generations and %d messages were seen: the writer hardly wrote", len(generations), seen)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != "store.db" {
		t.Errorf("left behind: %v %v", list, err)
	}
	t.Log(said[0], len(generations), "generations,", seen, "messages")
}
