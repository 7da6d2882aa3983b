package cursor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/storedtest"
)

// TestImportLive takes a store whose messages are in its log: the copy has them, and another workspace.
func TestImportLive(t *testing.T) {
	h := newHandmade(t, realSchema)
	h.db.SetMaxOpenConns(1)
	h.exec(`PRAGMA journal_mode(WAL)`)
	h.conversation(`{"role":"user","content":"one"}`, `{"role":"user","content":"two"}`)
	dir := filepath.Dir(h.path)
	storedtest.Put(t, dir, "meta.json", `{"schemaVersion":1,"createdAtMs":1761698454965,"cwd":"/old","novel":{"kept":true}}`)
	storedtest.Put(t, dir, "prompt_history.json", `["one","two"]`)
	before := files(t, dir)
	if before["store.db-wal"] == "" {
		t.Fatal("there is no log to take along")
	}
	s := agentcli.StoredSession{ID: filepath.Base(dir), Path: h.path}
	list, err := New(Options{}).Import(t.Context(), s, "/new place")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for _, f := range list {
		if f.Root != agentcli.InHome || !f.KeepExisting {
			t.Errorf("%+v", f)
		}
		storedtest.Put(t, home, f.Path, string(f.Data))
	}
	loaded, got, err := storedtest.Load(t, New(Options{}), agentcli.HistoryOptions{Home: home, Dir: "/new place"}, s.ID)
	if err != nil || strings.Join(got, ";") != `user [text "one"];user [text "two"]` || loaded.Dir != "/new place" {
		t.Errorf("%+v %q %v", loaded, got, err)
	}
	meta, err := os.ReadFile(filepath.Join(filepath.Dir(loaded.Path), "meta.json"))
	if err != nil || !strings.Contains(string(meta), `"novel":{"kept":true}`) {
		t.Errorf("%s %v", meta, err)
	}
	after := files(t, dir)
	delete(before, "store.db-shm")
	delete(after, "store.db-shm")
	for name, sum := range before {
		if after[name] != sum || len(after) != len(before) {
			t.Errorf("%s changed: %v", name, after)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "11111111-2222-4333-8444-555555555555")
	at := storedtest.Put(t, dir, "store.db", "nonsense")
	for _, c := range []struct {
		s    agentcli.StoredSession
		code substrat.Code
	}{
		{agentcli.StoredSession{ID: filepath.Base(dir), Path: at}, substrat.CodeInvalid},
		{agentcli.StoredSession{ID: "../../x", Path: at}, substrat.CodeInvalid},
		{agentcli.StoredSession{ID: filepath.Base(dir), Path: filepath.Join(t.TempDir(), "store.db")}, substrat.CodeNotFound},
	} {
		if list, err := New(Options{}).Import(t.Context(), c.s, "/w"); substrat.CodeOf(err) != c.code || list != nil {
			t.Errorf("%+v: %v %v", c.s, list, err)
		}
	}
}
