package cursor

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat/agentcli"
)

// owner is the program that a store belongs to, in a test that says what it does when.
type owner struct {
	t    *testing.T
	path string
	db   *sql.DB
	ids  [][32]byte
	// generation counts conversations: each begins with the one before removed, and takes its pages.
	generation int
}

func (o *owner) open() {
	db, err := sql.Open("sqlite", "file:"+o.path+"?_pragma=busy_timeout(0)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		o.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(strings.ReplaceAll(realSchema, "TABLE", "TABLE IF NOT EXISTS")); err != nil {
		o.t.Fatal(err)
	}
	o.db = db
}

// deeds are what an owner may do between two steps of a copy.
var deeds = map[string]func(o *owner){
	"nothing": func(*owner) {},
	"commit":  func(o *owner) { o.commit() },
	// What is committed goes into the database, and the log goes on.
	"checkpoint": func(o *owner) { o.commit(); o.pragma("PASSIVE") },
	// The next commit begins the log anew.
	"restart": func(o *owner) { o.commit(); o.pragma("RESTART"); o.commit() },
	"empty":   func(o *owner) { o.commit(); o.pragma("TRUNCATE") },
	"again":   func(o *owner) { o.commit(); o.pragma("TRUNCATE"); o.commit() },
	"close":   func(o *owner) { o.commit(); o.close(); o.open() },
	"reopen":  func(o *owner) { o.close(); o.open(); o.commit() },
	// Other things come to stand where the copy's things stood.
	"turnover":            func(o *owner) { o.turnover(); o.commit() },
	"turnover checkpoint": func(o *owner) { o.turnover(); o.pragma("PASSIVE") },
}

func (o *owner) turnover() {
	o.generation++
	o.ids = nil
	for range 12 {
		o.commit()
	}
}

func (o *owner) commit() {
	o.ids = append(o.ids, writeOne(o.t, o.db, o.generation, len(o.ids), o.ids))
}

func (o *owner) pragma(how string) {
	var busy, log, done int
	if err := o.db.QueryRow(`PRAGMA wal_checkpoint(`+how+`)`).Scan(&busy, &log, &done); err != nil || busy != 0 {
		o.t.Fatalf("%s: busy %d, %v", how, busy, err)
	}
}

func (o *owner) close() {
	if err := o.db.Close(); err != nil {
		o.t.Fatal(err)
	}
}

// TestSnapshotSteps lets the owner do everything between all steps of a copy. A copy that counts as proven is whole, and holds
// at least what was there when it began.
func TestSnapshotSteps(t *testing.T) {
	proven := 0
	for first, a := range deeds {
		for second, b := range deeds {
			// When all is copied, what matters is what the proof makes of it.
			for _, third := range []string{"nothing", "commit", "restart"} {
				c := deeds[third]
				name := first + ", " + second + ", " + third
				if snapshotSteps(t, name, false, a, b, c) {
					proven++
				}
			}
		}
	}
	// Without a log to tell, nothing at all may have happened.
	for name, deed := range deeds {
		for i := range 3 {
			list := []func(*owner){deeds["nothing"], deeds["nothing"], deeds["nothing"]}
			list[i] = deed
			if got := snapshotSteps(t, name+" without a log", true, list...); got != (name == "nothing") {
				t.Errorf("%s in gap %d, without a log: proven %v", name, i, got)
			}
		}
	}
	if total := 3 * len(deeds) * len(deeds); proven < 10 || proven == total {
		t.Errorf("%d of %d copies count as proven", proven, total)
	}
	t.Log(proven, "copies proven")
}

func snapshotSteps(t *testing.T, name string, quiet bool, deed ...func(*owner)) bool {
	t.Helper()
	dir := t.TempDir()
	o := &owner{t: t, path: filepath.Join(dir, "store.db")}
	o.open()
	defer func() { o.close() }()
	o.turnover()
	o.pragma("TRUNCATE")
	if quiet {
		age(t, o.path)
	} else {
		o.commit()
	}
	least := len(o.ids)
	c := storeCopy{from: o.path, to: filepath.Join(dir, "copy", "store.db")}
	if err := os.Mkdir(filepath.Dir(c.to), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, step := range []func() error{c.begin, c.database, c.log, c.prove} {
		err := step()
		if errors.Is(err, errMoved) {
			return false
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if i < len(deed) {
			deed[i](o)
		}
	}
	n := 0
	generation := ""
	_, err := New(Options{}).Load(t.Context(), agentcli.HistoryOptions{}, c.to, func(m agentcli.Message) error {
		if n == 0 {
			generation, _, _ = strings.Cut(m.Text(), "/")
		}
		if !strings.HasPrefix(m.Text(), fmt.Sprintf("%s/%d ", generation, n)) {
			return fmt.Errorf("message %d is %.20q", n, m.Text())
		}
		n++
		return nil
	})
	if err != nil || generation == "1" && n < least {
		t.Errorf("%s: a copy that counts as proven has %d messages of generation %s: %v", name, n, generation, err)
	}
	return true
}

// age makes a file look as if it had not been written for a while.
func age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}
