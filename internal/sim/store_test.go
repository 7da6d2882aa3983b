package sim

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// dump is a store read by this test alone, without the package's own reader.
type dump struct {
	meta     map[string]any
	ids      []string
	messages []string // role and content
}

func (b *box) chatDir(id string) string {
	return filepath.Join(b.conf("chats"), fmt.Sprintf("%x", md5.Sum([]byte(b.space))), id)
}

func (b *box) dump(id string) dump {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.chatDir(id), "store.db")+"?mode=ro")
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	var value string
	if err := db.QueryRow(`SELECT value FROM meta WHERE key = '0'`).Scan(&value); err != nil {
		b.t.Fatal(err)
	}
	var d dump
	text, err := hex.DecodeString(value)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d.meta); err != nil {
		b.t.Fatal(err)
	}
	blob := func(id string) []byte {
		var data []byte
		if err := db.QueryRow(`SELECT data FROM blobs WHERE id = ?`, id).Scan(&data); err != nil {
			b.t.Fatalf("blob %s: %v", id, err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != id {
			b.t.Fatalf("blob %s has other content", id)
		}
		return data
	}
	root := blob(d.meta["latestRootBlobId"].(string))
	for bytes.HasPrefix(root, []byte{0x0a, 0x20}) {
		d.ids = append(d.ids, hex.EncodeToString(root[2:34]))
		root = root[34:]
	}
	for _, id := range d.ids {
		var m message
		if err := json.Unmarshal(blob(id), &m); err != nil {
			b.t.Fatal(err)
		}
		d.messages = append(d.messages, m.Role+" "+string(m.Content))
	}
	return d
}

func TestStoreOverTurns(t *testing.T) {
	b := newBox(t)
	id := uuid.NewString()
	b.stream(`first <<SCRIPT [{"think":"hm"},{"text":"a"},{"shell":"echo hi"},{"text":"b"},{"text":"c"}] SCRIPT>>`, "--resume", id)
	first := b.dump(id)
	got := finalText(t, b.stream("second", "--resume="+id))
	if want := `You asked: "second". I am a simulated agent, so I only repeat it. There is 1 earlier message in this chat: "first".`; got != want {
		t.Errorf("answer %q", got)
	}
	second := b.dump(id)
	if !slices.Equal(first.ids, second.ids[:len(first.ids)]) || len(second.ids) != len(first.ids)+2 {
		t.Errorf("%v is no prefix of %v", first.ids, second.ids)
	}
	var roles []string
	for _, m := range second.messages {
		role, _, _ := strings.Cut(m, " ")
		roles = append(roles, role)
	}
	want := []string{"system", "user", "user", "assistant", "tool", "assistant", "user", "assistant"}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Fatal(diff)
	}
	for i, part := range map[int]string{
		2: `\n<user_query>\nfirst <<SCRIPT`, 3: `"type":"reasoning","text":"hm"},{"type":"text","text":"a"},{"type":"tool-call"`,
		4: `"toolName":"Shell"`, 5: `"text":"bc"`, 6: `<user_query>\nsecond\n</user_query>"`,
	} {
		if !strings.Contains(second.messages[i], part) {
			t.Errorf("message %d has no %s: %s", i, part, second.messages[i])
		}
	}
	if second.meta["agentId"] != id || second.meta["mode"] != "default" || second.meta["lastUsedModel"] != "auto" {
		t.Errorf("meta %v", second.meta)
	}
}

func TestResume(t *testing.T) {
	b := newBox(t)
	made := b.run("create-chat")
	id := strings.TrimSpace(made.stdout)
	if made.code != 0 || !isUUID(id) {
		t.Fatalf("create-chat: %+v", made)
	}
	if entries, err := os.ReadDir(b.chatDir(id)); err != nil || len(entries) != 1 || entries[0].Name() != "meta.json" {
		t.Errorf("a chat without a turn holds %v, %v", entries, err)
	}
	events := b.stream("one", "--resume", id)
	if events[0].SessionID != id {
		t.Errorf("session %s", events[0].SessionID)
	}
	if again := b.stream("two", "--continue"); again[0].SessionID != id || !strings.Contains(finalText(t, again), "1 earlier") {
		t.Errorf("--continue: %s", again[0].raw)
	}
	unknown := uuid.NewString()
	if fresh := b.stream("three", "--resume", unknown); fresh[0].SessionID != unknown || strings.Contains(finalText(t, fresh), "earlier") {
		t.Errorf("an unknown id: %s", finalText(t, fresh))
	}
	if back := b.stream("four", "--resume=-2"); back[0].SessionID != id {
		t.Errorf("the one before the latest: %s", back[0].raw)
	}
	out := b.run("-p", "--force", "--resume", "x", "hi")
	want := "Failed to claim persistent session for chat \"x\": Persistent-session chat ID must be a UUID\n"
	if diff := cmp.Diff(outputs{"", want, 1}, out, cmp.AllowUnexported(outputs{})); diff != "" {
		t.Error(diff)
	}
}

func TestNewSessionID(t *testing.T) {
	b := newBox(t)
	id := uuid.NewString()
	if events := b.stream("hi", "--new-session-id", id); events[0].SessionID != id {
		t.Errorf("session %s", events[0].SessionID)
	}
	for arg, want := range map[string]string{
		id:    `Error: Session ID "` + id + `" is already in use.` + "\n",
		"bad": `Error: Invalid --new-session-id "bad": expected a UUIDv4.` + "\n",
	} {
		if out := b.run("-p", "--force", "--new-session-id", arg, "hi"); out.code != 1 || out.stderr != want {
			t.Errorf("%s: %+v", arg, out)
		}
	}
}

func TestInterruptedTurnIsInTheStore(t *testing.T) {
	b := newBox(t)
	id := uuid.NewString()
	out := b.run("-p", "--force", "--resume", id, `<<SCRIPT [{"text":"half a"},{"fault":"exit","code":7}] SCRIPT>>`)
	if out.code != 7 {
		t.Fatalf("%+v", out)
	}
	list := b.dump(id).messages
	if last := list[len(list)-1]; !strings.Contains(last, "half a") {
		t.Errorf("the last message is %s", last)
	}
}

func TestRootMessagesTakesAnything(t *testing.T) {
	good := encodeRoot([][sha256.Size]byte{{1}, {2}}, "/w", "default")
	if got := rootMessages(good); len(got) != 2 || got[1][0] != 2 {
		t.Errorf("%v", got)
	}
	for cut := range good {
		if got := rootMessages(good[:cut]); len(got) > 2 {
			t.Errorf("cut at %d: %v", cut, got)
		}
	}
	if got := rootMessages([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}); got != nil {
		t.Errorf("an overlong field: %v", got)
	}
}

func TestCorruptStoreIsAnError(t *testing.T) {
	b := newBox(t)
	id := uuid.NewString()
	if err := os.MkdirAll(b.chatDir(id), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.chatDir(id), "store.db"), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := b.run("-p", "--force", "--resume", id, "hi"); out.code != 1 || !strings.Contains(out.stderr, "Error: ") {
		t.Errorf("%+v", out)
	}
}

func TestQueriesStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &store{messages: [][sha256.Size]byte{{1}}}
	if got := s.queries(ctx); got != nil {
		t.Errorf("%v", got)
	}
}
