package cursor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/sim"
)

// simulated runs the simulator in a home and a workspace of the test's.
type simulated struct {
	t           *testing.T
	home, space string
}

func newSimulated(t *testing.T) *simulated {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &simulated{t: t, home: filepath.Join(dir, "home"), space: filepath.Join(dir, "my space")}
	for _, d := range []string{s.home, s.space} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *simulated) run(args ...string) string {
	s.t.Helper()
	var out, errs bytes.Buffer
	env := []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	if code := sim.Main(s.t.Context(), append([]string{"cursor-agent"}, args...), env, strings.NewReader(""), &out, &errs); code != 0 {
		s.t.Fatalf("exit %d: %s", code, errs.String())
	}
	return out.String()
}

func (s *simulated) turn(id, prompt string) {
	s.t.Helper()
	s.run("--print", "--output-format", "stream-json", "--trust", "--force", "--workspace", s.space, "--resume", id, prompt)
}

func (s *simulated) chat() string {
	s.t.Helper()
	return strings.TrimSpace(s.run("create-chat", "--workspace", s.space))
}

func (s *simulated) options() agentcli.HistoryOptions { return agentcli.HistoryOptions{Home: s.home} }

func (s *simulated) dir(id string) string {
	return filepath.Join(s.home, ".cursor", "chats", WorkspaceHash(s.space), id)
}

func load(t *testing.T, o agentcli.HistoryOptions, id string) (agentcli.StoredSession, []agentcli.Message, error) {
	t.Helper()
	var list []agentcli.Message
	s, err := New(Options{}).Load(t.Context(), o, id, func(m agentcli.Message) error { list = append(list, m); return nil })
	return s, list, err
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		data, err := os.ReadFile(filepath.Join(dir, d.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[d.Name()] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return out
}

func TestHistoryOfSimulator(t *testing.T) {
	s := newSimulated(t)
	id := s.chat()
	s.turn(id, `first <<SCRIPT [{"think":"hm"},{"text":"a"},{"shell":"echo hi"},{"text":"b"}] SCRIPT>>`)
	s.turn(id, "second")
	before := files(t, s.dir(id))
	session, list, err := load(t, s.options(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, files(t, s.dir(id))); diff != "" {
		t.Errorf("reading changed the chat's directory: %s", diff)
	}
	if session.Dir != s.space || session.Messages != len(list) || session.Provider != "cursor" || session.Mode != "default" || session.CreatedAt.IsZero() || session.Path != filepath.Join(s.dir(id), "store.db") {
		t.Errorf("session %+v", session)
	}
	var got []string
	for _, m := range list {
		line := string(m.Role)
		if m.Context {
			line += " context"
		}
		for _, b := range m.Blocks {
			line += " " + string(b.Type) + ":" + strings.TrimSpace(b.Text)
			if b.Tool != nil {
				line += fmt.Sprintf("%s %s %s %s %q", b.Tool.Name, b.Tool.Kind, b.Tool.Status, b.Tool.Title, b.Tool.Output)
			}
		}
		got = append(got, line)
		if !json.Valid(m.Raw) {
			t.Errorf("raw %q", m.Raw)
		}
	}
	want := []string{
		"system context text:You are a simulated coding agent. You follow scripts.",
		"user context text:<user_info>\nOS Version: linux\nWorkspace Path: " + s.space + "\n</user_info>",
		`user text:first <<SCRIPT [{"think":"hm"},{"text":"a"},{"shell":"echo hi"},{"text":"b"}] SCRIPT>>`,
		`assistant thinking:hm text:a tool:Bash execute completed echo hi "hi"`,
		"assistant text:b",
		"user text:second",
	}
	if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
		t.Error(diff)
	}
	if last := list[len(list)-1]; last.Role != agentcli.RoleAssistant || !strings.Contains(last.Text(), "second") {
		t.Errorf("last message %+v", last)
	}
	if list[2].Time.IsZero() || time.Since(list[2].Time) > 10*time.Minute {
		t.Errorf("time of the prompt %v", list[2].Time)
	}
}

func TestHistoryList(t *testing.T) {
	s := newSimulated(t)
	unused, used := s.chat(), s.chat()
	s.turn(used, "hello there")
	list, err := New(Options{}).Sessions(t.Context(), s.options())
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
	if list[0].ID != used || list[0].Messages == 0 || list[0].Dir != s.space || list[0].Problem != "" || list[1].ID != unused || list[1].Messages != 0 || list[1].Problem != "" {
		t.Errorf("%+v", list)
	}
	if _, messages, err := load(t, s.options(), unused); err != nil || len(messages) != 0 {
		t.Errorf("a chat without a turn: %v %v", messages, err)
	}
	if err := os.Remove(filepath.Join(s.dir(used), "meta.json")); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]agentcli.HistoryOptions{
		"of the workspace": {Home: s.home, Dir: s.space},
		"by a candidate":   {Home: s.home, Candidates: []string{"/nowhere", s.space}},
	} {
		list, err := New(Options{}).Sessions(t.Context(), o)
		if err != nil || len(list) != 2 {
			t.Fatalf("%s: %+v %v", name, list, err)
		}
		for _, x := range list {
			if x.Dir != s.space {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
	if list, err := New(Options{}).Sessions(t.Context(), agentcli.HistoryOptions{Home: s.home, Dir: "/nowhere"}); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if list, err := New(Options{}).Sessions(t.Context(), agentcli.HistoryOptions{Home: t.TempDir()}); err != nil || len(list) != 0 {
		t.Errorf("a home without chats: %v %v", list, err)
	}
	if _, _, err := load(t, s.options(), "00000000-0000-4000-8000-000000000000"); substrat.CodeOf(err) != substrat.CodeNotFound {
		t.Errorf("a session that is not there: %v", err)
	}
	if x, _, err := load(t, s.options(), used[:13]); err != nil || x.ID != used {
		t.Errorf("the beginning of an id: %+v %v", x, err)
	}
	if x, _, err := load(t, s.options(), filepath.Join(s.dir(used), "store.db")); err != nil || x.ID != used || x.Messages == 0 {
		t.Errorf("a path: %+v %v", x, err)
	}
}

// store is a hand-made one.
type handmade struct {
	t    *testing.T
	path string
	db   *sql.DB
}

func newHandmade(t *testing.T, schema string) *handmade {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "11111111-2222-4333-8444-555555555555")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h := &handmade{t: t, path: filepath.Join(dir, "store.db")}
	db, err := sql.Open("sqlite", "file:"+h.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	h.db = db
	h.exec(schema)
	return h
}

const realSchema = `CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB); CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);`

func (h *handmade) exec(q string, args ...any) {
	h.t.Helper()
	if _, err := h.db.Exec(q, args...); err != nil {
		h.t.Fatal(err)
	}
}

func (h *handmade) blob(data []byte) [32]byte {
	id := sha256.Sum256(data)
	h.exec(`INSERT OR REPLACE INTO blobs VALUES (?, ?)`, hex.EncodeToString(id[:]), data)
	return id
}

func (h *handmade) root(ids ...[32]byte) []byte {
	out := []byte{0x4a, 3, 'x', 'y', 'z', 0x28, 5} // fields 9 and 5, which are to be skipped
	for _, id := range ids {
		out = append(append(out, 0x0a, 32), id[:]...)
	}
	return out
}

func (h *handmade) meta(root [32]byte, more string) {
	text := `{"agentId":"x","latestRootBlobId":"` + hex.EncodeToString(root[:]) + `","name":"Tidy up","mode":"auto-run","createdAt":"1761698454965"` + more + `}`
	h.exec(`INSERT OR REPLACE INTO meta VALUES ('0', ?)`, hex.EncodeToString([]byte(text)))
}

// conversation stores messages and makes them the latest.
func (h *handmade) conversation(list ...string) {
	var ids [][32]byte
	for _, m := range list {
		ids = append(ids, h.blob([]byte(m)))
	}
	h.meta(h.blob(h.root(ids...)), "")
}

func TestHistoryShapes(t *testing.T) {
	h := newHandmade(t, realSchema)
	h.conversation(
		`{"role":"user","content":[{"type":"text","text":"<system_reminder>plan mode</system_reminder>"},{"type":"text","text":"<timestamp>Friday, Sep 25, 2026, 3:04 PM (UTC+02)</timestamp>\n<user_query>\nlook\n</user_query>"},{"type":"image","image":"aGVsbG8=","mediaType":"image/png"}]}`,
		`{"role":"assistant","id":"1","content":[{"type":"reasoning","text":"r"},{"type":"redacted-reasoning","data":"zz"},{"type":"tool-call","toolCallId":"a\nb","toolName":"StrReplace","args":{"path":"/x/y.go"},"providerOptions":{"cursor":{"modelName":"m-1"}}},{"type":"tool-call","toolCallId":"c","toolName":"Shell","args":{"command":"false"}},{"type":"tool-call","toolCallId":"d","toolName":"CallMcpTool","args":{"server":"s","toolName":"t"}},{"type":"novelty"}]}`,
		`{"role":"tool","id":"c","content":[{"type":"tool-result","toolCallId":"c","toolName":"Shell","result":"Exit code: 1\n\nno"}]}`,
		`{"role":"tool","id":"a","content":[{"type":"tool-result","toolCallId":"a\nb","toolName":"StrReplace","result":[{"type":"text","text":"done"}]}]}`,
		`{"role":"tool","id":"z","content":[{"type":"tool-result","toolCallId":"lost","toolName":"Read","result":"r","isError":true}]}`,
		`{"role":"user","content":"[Previous conversation summary]: things"}`,
	)
	s, list, err := load(t, agentcli.HistoryOptions{}, h.path)
	if err != nil {
		t.Fatal(err)
	}
	if s.Title != "Tidy up" || s.Mode != "auto-run" || s.CreatedAt.UnixMilli() != 1761698454965 || s.ID != "11111111-2222-4333-8444-555555555555" {
		t.Errorf("%+v", s)
	}
	for i := range list {
		list[i].Raw, list[i].ID = nil, ""
	}
	one := 1
	want := []agentcli.Message{
		{Role: "user", Time: time.Date(2026, 9, 25, 13, 4, 0, 0, time.UTC), Blocks: []agentcli.Block{{Type: "text", Text: "look"}, {Type: "image", MediaType: "image/png", Bytes: 6}}},
		{Role: "assistant", Model: "m-1", Blocks: []agentcli.Block{{Type: "thinking", Text: "r"}, {Type: "thinking"},
			{Type: "tool", Tool: &agentcli.ToolCall{ID: "a\nb", Name: "Edit", Native: "StrReplace", Kind: "edit", Status: "completed", Title: "/x/y.go", Input: json.RawMessage(`{"path":"/x/y.go"}`), Output: "done", Paths: []string{"/x/y.go"}}},
			{Type: "tool", Tool: &agentcli.ToolCall{ID: "c", Name: "Bash", Native: "Shell", Kind: "execute", Status: "failed", Title: "false", Input: json.RawMessage(`{"command":"false"}`), Output: "Exit code: 1\n\nno", Error: "exit code 1", ExitCode: &one}},
			{Type: "tool", Tool: &agentcli.ToolCall{ID: "d", Name: "MCP", Native: "CallMcpTool", Kind: "other", Status: "running", Title: "t", Server: "s", Input: json.RawMessage(`{"server":"s","toolName":"t"}`)}},
		}},
		{Role: "tool", Blocks: []agentcli.Block{{Type: "tool", Tool: &agentcli.ToolCall{ID: "lost", Name: "Read", Native: "Read", Kind: "read", Status: "failed", Output: "r", Error: "r"}}}},
		{Role: "user", Context: true, Blocks: []agentcli.Block{{Type: "text", Text: "[Previous conversation summary]: things"}}},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
}

// TestHistoryDamage: what is wrong is said, with the file it is wrong with; what stands before it is given.
func TestHistoryDamage(t *testing.T) {
	hello := `{"role":"user","content":"hello"}`
	secret := `,"blobEncryptionKey":"c2VjcmV0LXNlY3JldA=="`
	for name, c := range map[string]struct {
		make func(h *handmade)
		code substrat.Code
		says string
		read int
	}{
		"a text":        {func(h *handmade) { h.db.Close(); os.WriteFile(h.path, []byte("hello, I am a text"), 0o600) }, substrat.CodeInvalid, "no SQLite database", 0},
		"a directory":   {func(h *handmade) { h.db.Close(); os.Remove(h.path); os.Mkdir(h.path, 0o700) }, substrat.CodeInvalid, "no regular file", 0},
		"other tables":  {func(h *handmade) { h.exec(`DROP TABLE blobs`) }, substrat.CodeInvalid, "no tables blobs and meta", 0},
		"other columns": {func(h *handmade) { h.exec(`DROP TABLE blobs; CREATE TABLE blobs (a, b)`) }, substrat.CodeInvalid, "other columns", 0},
		"a view that never ends": {func(h *handmade) {
			h.exec(`DROP TABLE blobs; CREATE VIEW blobs AS WITH RECURSIVE n(id, data) AS (SELECT 'a', 'b' UNION ALL SELECT id, data FROM n) SELECT * FROM n`)
		}, substrat.CodeInvalid, "no tables blobs and meta", 0},
		"no meta":      {func(h *handmade) { h.conversation(hello); h.exec(`DELETE FROM meta`) }, substrat.CodeInvalid, "meta record", 0},
		"meta is bits": {func(h *handmade) { h.exec(`INSERT INTO meta VALUES ('0', x'00ff')`) }, substrat.CodeInvalid, "neither JSON nor hex", 0},
		"meta is a list": {func(h *handmade) {
			h.exec(`INSERT INTO meta VALUES ('0', '` + hex.EncodeToString([]byte(`["c2VjcmV0LXNlY3JldA=="]`)) + `')`)
		}, substrat.CodeInvalid, "shape", 0},
		"root lost": {func(h *handmade) { h.meta([32]byte{1}, "") }, substrat.CodeInvalid, "blob 010000000000 is damaged or incomplete: it is not there", 0},
		"root cut": {func(h *handmade) {
			root := h.root(h.blob([]byte(hello)))
			h.meta(h.blob(root[:len(root)-1]), "")
		}, substrat.CodeInvalid, "ends in the middle", 0},
		"root of another kind":            {func(h *handmade) { h.meta(h.blob([]byte{0x0a, 3, 'a', 'b', 'c'}), "") }, substrat.CodeInvalid, "other than ids", 0},
		"root with a message for content": {func(h *handmade) { h.meta(h.blob([]byte(hello)), "") }, substrat.CodeInvalid, "not of the known form", 0},
		"message lost":                    {func(h *handmade) { h.meta(h.blob(h.root(h.blob([]byte(hello)), [32]byte{2})), "") }, substrat.CodeInvalid, "blob 020000000000", 1},
		"message changed": {func(h *handmade) {
			h.conversation(hello, `{"role":"user","content":"x"}`)
			h.exec(`UPDATE blobs SET data = '{"role":"user","content":"y"}' WHERE CAST(data AS TEXT) LIKE '%"x"%'`)
		}, substrat.CodeInvalid, "not what its id says", 1},
		"message null": {func(h *handmade) {
			h.conversation(hello, `{"role":"user","content":"x"}`)
			h.exec(`UPDATE blobs SET data = NULL WHERE CAST(data AS TEXT) LIKE '%"x"%'`)
		}, substrat.CodeInvalid, "not there", 1},
		"encrypted": {func(h *handmade) {
			h.meta(h.blob(h.root(h.blob([]byte(hello)), h.blob([]byte{0xff, 0xfe, 0, 1, 2, 3}))), secret)
		}, substrat.CodeUnsupported, "encrypted", 1},
		"of another form": {func(h *handmade) { h.conversation(hello, `{"no":"role"}`) }, substrat.CodeInvalid, "no known form", 1},
		"giant": {func(h *handmade) {
			big := sha256.Sum256([]byte("big"))
			h.exec(`INSERT INTO blobs VALUES (?, zeroblob(?))`, hex.EncodeToString(big[:]), blobMost+1)
			h.meta(h.blob(h.root(big)), "")
		}, substrat.CodeTooLarge, "more than", 0},
		"cut in the middle": {func(h *handmade) {
			h.conversation(hello, `{"role":"user","content":"`+strings.Repeat("x", 100_000)+`"}`)
			h.db.Close()
			if err := os.Truncate(h.path, 40_000); err != nil {
				h.t.Fatal(err)
			}
		}, substrat.CodeInvalid, "damaged", 0},
		"pages overwritten": {func(h *handmade) {
			h.conversation(hello)
			h.db.Close()
			data, _ := os.ReadFile(h.path)
			for i := 100; i < len(data); i++ {
				data[i] = 0x5a
			}
			os.WriteFile(h.path, data, 0o600)
		}, substrat.CodeInvalid, "damaged", 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandmade(t, realSchema)
			c.make(h)
			_, list, err := load(t, agentcli.HistoryOptions{}, h.path)
			if substrat.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), h.path) {
				t.Fatalf("%v: %v", substrat.CodeOf(err), err)
			}
			if strings.Contains(err.Error(), "c2Vjcm") {
				t.Errorf("the key is told: %v", err)
			}
			if len(list) != c.read {
				t.Errorf("%d messages before it, not %d", len(list), c.read)
			}
		})
	}
}

func TestHistoryEmptyStores(t *testing.T) {
	for name, make := range map[string]func(h *handmade){
		"tables only": func(*handmade) {},
		"no root yet": func(h *handmade) { h.exec(`INSERT INTO meta VALUES ('0', '{"agentId":"x","name":"n"}')`) },
		"no tables":   func(h *handmade) { h.exec(`DROP TABLE blobs; DROP TABLE meta`) },
		"no bytes":    func(h *handmade) { h.db.Close(); os.Truncate(h.path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandmade(t, realSchema)
			make(h)
			if _, list, err := load(t, agentcli.HistoryOptions{}, h.path); err != nil || len(list) != 0 {
				t.Errorf("%v %v", list, err)
			}
		})
	}
}

func TestHistoryCancelled(t *testing.T) {
	h := newHandmade(t, realSchema)
	h.conversation(`{"role":"user","content":"hello"}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(Options{}).Load(ctx, agentcli.HistoryOptions{}, h.path, func(agentcli.Message) error { return nil }); err == nil {
		t.Error("a cancelled load succeeds")
	}
}

func FuzzHistoryRoot(f *testing.F) {
	f.Add([]byte{0x4a, 3, 'x', 'y', 'z', 0x28, 5, 0x0a, 32})
	f.Add(append([]byte{0x0a, 32}, make([]byte, 32)...))
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, root []byte) {
		ids, err := decodeRoot(root)
		if len(ids)*34 > len(root) {
			t.Fatalf("%d ids of %d bytes", len(ids), len(root))
		}
		if err == nil {
			if again, err := decodeRoot(append(root[:len(root):len(root)], root...)); err != nil || len(again) != 2*len(ids) {
				t.Fatalf("twice the same is %d ids, not %d: %v", len(again), 2*len(ids), err)
			}
		}
	})
}

func FuzzHistoryMessage(f *testing.F) {
	f.Add([]byte(`{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"Shell","args":{"command":"x"}}]}`))
	f.Add([]byte(`{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","result":{"type":"text","value":[{"text":"x"}]}}]}`))
	f.Add([]byte(`{"role":"user","content":"<timestamp>x</timestamp>\n<user_query>\nx\n</user_query>"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, results, ok := decodeMessage(data)
		if !ok {
			return
		}
		join := &agentcli.Joiner{Yield: func(m agentcli.Message) error {
			_, err := json.Marshal(m)
			return err
		}}
		if err := give(join, m, results); err != nil {
			t.Fatal(err)
		}
		if err := give(join, m, results); err != nil {
			t.Fatal(err)
		}
		if err := join.Flush(); err != nil {
			t.Fatal(err)
		}
		_, _ = decodeMeta(data)
	})
}
