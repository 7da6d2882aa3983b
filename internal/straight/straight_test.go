package straight

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestStraight: a path is opened where nothing in it is a link, by whichever way the machine has.
func TestStraight(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(at("real/inner"), 0o700))
	must(os.Symlink(at("real"), at("link")))
	must(os.Symlink("inner", at("real/short")))
	must(os.WriteFile(at("real/file"), nil, 0o600))
	for _, p := range []string{"link", "link/inner", "real/short"} {
		if _, _, err := Stat(at(p)); !errors.Is(err, ErrLink) {
			t.Errorf("stat of %s: %v", p, err)
		}
		if _, err := Root(at(p)); !errors.Is(err, ErrLink) {
			t.Errorf("root at %s: %v", p, err)
		}
		if err := MkdirAll(at(p+"/new"), 0o700); !errors.Is(err, ErrLink) {
			t.Errorf("made below %s: %v", p, err)
		}
		if err := checkParts(at(p)); !errors.Is(err, ErrLink) {
			t.Errorf("parts of %s: %v", p, err)
		}
	}
	if _, err := os.Lstat(at("real/new")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a directory was made behind a link")
	}
	info, id, err := Stat(at("real/inner"))
	if err != nil || !info.IsDir() || id == (ID{}) {
		t.Errorf("%v %v %v", info, id, err)
	}
	root, err := Root(at("real"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	// The root stands for the directory, not for its name.
	must(os.Rename(at("real"), at("moved")))
	if _, err := root.Stat("file"); err != nil {
		t.Error(err)
	}
	must(MkdirAll(at("moved/a/b"), 0o700))
	if _, _, err := Stat(at("moved/a/b")); err != nil {
		t.Error(err)
	}
	if _, err := Root(at("moved/file")); err == nil {
		t.Error("a file was opened as a directory")
	}
	if err := MkdirAll(at("moved/file/x"), 0o700); err == nil {
		t.Error("a directory was made below a file")
	}
	if err := checkParts(at("moved/a/b")); err != nil {
		t.Error(err)
	}
}
