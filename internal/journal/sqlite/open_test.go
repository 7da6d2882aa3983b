package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/sqlite"
)

func TestOpenMakesPrivateFiles(t *testing.T) {
	for _, name := range []string{"state", "a ?#%é&=\"b", "+'%41"} {
		dir := filepath.Join(t.TempDir(), name)
		path := filepath.Join(dir, "journal.db")
		j := open(t, path, sqlite.Options{})
		if _, _, err := j.Append(t.Context(), []journal.Batch{batchOf("a", 0, 1)}); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 3 {
			t.Fatalf("%q holds %v, %v, want the file, its WAL and index", dir, files, err)
		}
		for _, f := range append(files, dirEntry(t, dir)) {
			info, err := f.Info()
			if err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
			}
		}
	}
}

func dirEntry(t *testing.T, dir string) os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

func TestOpenTightensAnOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	closed(t, open(t, path, sqlite.Options{}))
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path, sqlite.Options{})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
}

// alter changes a closed journal behind its back.
func alter(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	write := func(content string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	ours := func(statements ...string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			closed(t, open(t, path, sqlite.Options{}))
			alter(t, path, statements...)
		}
	}
	for name, c := range map[string]struct {
		make func(*testing.T, string)
		code substrat.Code
		says string
	}{
		"text":            {write("This is not a database, but long enough to be looked at" + strings.Repeat(".", 4096)), substrat.CodeInvalid, "some other program"},
		"short text":      {write("hello"), substrat.CodeInvalid, "some other program"},
		"foreign sqlite":  {func(t *testing.T, p string) { alter(t, p, "CREATE TABLE meta (x)") }, substrat.CodeInvalid, "some other program"},
		"foreign version": {func(t *testing.T, p string) { alter(t, p, "PRAGMA user_version = 1") }, substrat.CodeInvalid, "some other program"},
		"newer":           {ours(fmt.Sprintf("PRAGMA user_version = %d", sqlite.Version+1)), substrat.CodeVersion, "newer Substrat"},
		"broken schema":   {ours("PRAGMA writable_schema = on", "UPDATE sqlite_schema SET rootpage = 999999 WHERE name = 'events'"), substrat.CodeStorage, "malformed"},
		"a directory":     {func(t *testing.T, p string) { _ = os.Mkdir(p, 0o700) }, substrat.CodeInvalid, "regular file"},
		"a symlink":       {func(t *testing.T, p string) { _ = os.Symlink("/nowhere", p) }, substrat.CodeInvalid, "regular file"},
		"a fifo":          {func(t *testing.T, p string) { _ = unix.Mkfifo(p, 0o600) }, substrat.CodeInvalid, "regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			c.make(t, path)
			before, _ := os.ReadFile(pathIfFile(path))
			j, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err == nil {
				_ = j.Close()
			}
			if substrat.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want code %s and %q", err, c.code, c.says)
			}
			if after, _ := os.ReadFile(pathIfFile(path)); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

// pathIfFile keeps the test from waiting for the other end of a fifo.
func pathIfFile(path string) string {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		return path
	}
	return os.DevNull
}

func TestOpenOnReadOnlyFileSystem(t *testing.T) {
	dir := tmpfs(t, "1m")
	path := filepath.Join(dir, "journal.db")
	closed(t, open(t, path, sqlite.Options{}))
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if substrat.CodeOf(err) != substrat.CodeStorage || !strings.Contains(err.Error(), "read-only") {
		t.Fatalf("opened on a read-only file system: %v", err)
	}
	_, err = sqlite.Open(t.Context(), filepath.Join(dir, "new", "journal.db"), sqlite.Options{})
	if substrat.CodeOf(err) != substrat.CodeStorage || !strings.Contains(err.Error(), "read-only") {
		t.Fatalf("made on a read-only file system: %v", err)
	}
}

func TestTwoOpenersOfOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	one, two := open(t, path, sqlite.Options{}), open(t, path, sqlite.Options{})
	if _, _, err := one.Append(t.Context(), []journal.Batch{batchOf("a", 0, 1)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := two.Append(t.Context(), []journal.Batch{batchOf("a", 0, 1)}); substrat.CodeOf(err) != substrat.CodeConflict {
		t.Fatalf("the second opener did not see the first: %v", err)
	}
	if _, last, err := two.Append(t.Context(), []journal.Batch{batchOf("a", 1, 1)}); err != nil || last != 2 {
		t.Fatal(last, err)
	}
}
