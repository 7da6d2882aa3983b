package sim

import (
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	// The driver of store.db.
	_ "modernc.org/sqlite"
)

// chat is one conversation's directory: store.db and meta.json, as observed of 2026.09.
type chat struct {
	id    string
	dir   string
	space workspace
}

func (c *config) chat(w workspace, id string) *chat {
	return &chat{id: id, dir: filepath.Join(c.chats(w), id), space: w}
}

func (c *chat) exists() bool {
	_, err := os.Stat(c.dir)
	return err == nil
}

// chatMeta is meta.json.
type chatMeta struct {
	SchemaVersion   int    `json:"schemaVersion"`
	CreatedAtMs     int64  `json:"createdAtMs"`
	UpdatedAtMs     int64  `json:"updatedAtMs"`
	HasConversation bool   `json:"hasConversation"`
	Title           string `json:"title,omitempty"`
	CWD             string `json:"cwd"`
}

func (c *chat) readMeta() chatMeta {
	var meta chatMeta
	data, err := os.ReadFile(filepath.Join(c.dir, "meta.json"))
	if err == nil {
		_ = json.Unmarshal(data, &meta)
	}
	return meta
}

// touch writes meta.json, keeping when the chat was made and what it is called.
func (c *chat) touch(hasConversation bool, title string) error {
	meta, now := c.readMeta(), time.Now().UnixMilli()
	if meta.CreatedAtMs == 0 {
		meta.CreatedAtMs = now
	}
	if meta.Title == "" {
		meta.Title = title
	}
	meta.SchemaVersion, meta.UpdatedAtMs, meta.CWD = 1, now, string(c.space)
	meta.HasConversation = meta.HasConversation || hasConversation
	data, err := json.Marshal(meta)
	if err != nil {
		return fmt.Errorf("cannot encode the chat's meta.json: %w", err)
	}
	return writeFile(filepath.Join(c.dir, "meta.json"), data)
}

// storeMeta is the value under key "0" of the table meta, stored as hex of its JSON.
type storeMeta struct {
	AgentID           string `json:"agentId"`
	LatestRootBlobID  string `json:"latestRootBlobId"`
	Name              string `json:"name"`
	Mode              string `json:"mode"`
	CreatedAt         int64  `json:"createdAt"`
	LastUsedModel     string `json:"lastUsedModel"`
	BlobEncryptionKey string `json:"blobEncryptionKey"`
}

// store is an open store.db. Every commit leaves a root whose list of messages has the one before as its prefix.
type store struct {
	chat     *chat
	db       *sql.DB
	meta     storeMeta
	messages [][sha256.Size]byte
}

// schema is created in one go; synchronous is off because a stand-in's chats need not survive a power failure.
const schema = `CREATE TABLE IF NOT EXISTS blobs (id TEXT PRIMARY KEY, data BLOB);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT);`

// openStore opens or makes the chat's store.
func openStore(c *chat, mode, model string) (*store, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the chat's directory: %w", err)
	}
	query := url.Values{"_pragma": {"busy_timeout(2000)", "journal_mode(WAL)", "synchronous(OFF)"}}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.Join(c.dir, "store.db"), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("cannot open the chat: %w", err)
	}
	db.SetMaxOpenConns(1)
	s := &store{chat: c, db: db}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.meta.Mode, s.meta.LastUsedModel = mode, model
	return s, nil
}

func (s *store) load() error {
	if _, err := s.db.Exec(schema); err != nil {
		return fmt.Errorf("cannot prepare the chat: %w", err)
	}
	var value string
	err := s.db.QueryRow(`SELECT value FROM meta WHERE key = '0'`).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		s.meta = storeMeta{AgentID: s.chat.id, Name: "New Agent", CreatedAt: time.Now().UnixMilli(), BlobEncryptionKey: newKey()}
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the chat: %w", err)
	}
	text, err := hex.DecodeString(value)
	if err != nil {
		return fmt.Errorf("cannot read the chat's meta record: %w", err)
	}
	if err := json.Unmarshal(text, &s.meta); err != nil {
		return fmt.Errorf("cannot read the chat's meta record: %w", err)
	}
	root, err := s.blob(s.meta.LatestRootBlobID)
	if err != nil {
		return err
	}
	s.messages = rootMessages(root)
	return nil
}

func newKey() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails, by its contract
	return base64.StdEncoding.EncodeToString(key[:])
}

func (s *store) blob(id string) ([]byte, error) {
	var data []byte
	if err := s.db.QueryRow(`SELECT data FROM blobs WHERE id = ?`, id).Scan(&data); err != nil {
		return nil, fmt.Errorf("cannot read blob %s of the chat: %w", id, err)
	}
	return data, nil
}

// commit appends messages (compact JSON) and makes the new list the latest, in one transaction.
func (s *store) commit(list ...[]byte) error {
	tx, err := s.db.Begin()
	if err != nil {
		return fmt.Errorf("cannot write the chat: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // without effect after Commit
	messages := s.messages
	for _, data := range list {
		id, err := putBlob(tx, data)
		if err != nil {
			return err
		}
		messages = append(messages, id)
	}
	root, err := putBlob(tx, encodeRoot(messages, s.chat.space, s.meta.Mode))
	if err != nil {
		return err
	}
	s.meta.LatestRootBlobID = hex.EncodeToString(root[:])
	meta, err := json.Marshal(s.meta)
	if err != nil {
		return fmt.Errorf("cannot encode the chat's meta record: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO meta (key, value) VALUES ('0', ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value`, hex.EncodeToString(meta))
	if err != nil {
		return fmt.Errorf("cannot write the chat's meta record: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("cannot write the chat: %w", err)
	}
	s.messages = messages
	return nil
}

func putBlob(tx *sql.Tx, data []byte) ([sha256.Size]byte, error) {
	id := sha256.Sum256(data)
	_, err := tx.Exec(`INSERT INTO blobs (id, data) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`, hex.EncodeToString(id[:]), data)
	if err != nil {
		return id, fmt.Errorf("cannot write to the chat: %w", err)
	}
	return id, nil
}

func (s *store) close() error { return s.db.Close() }
