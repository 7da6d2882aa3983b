package cursor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"strings"
	"time"

	// The format of store.db.
	_ "modernc.org/sqlite"

	"substrat.dev/substrat"
)

// Bounds of what is read of one store: a single blob, and all messages together.
const (
	blobMost  = 64 << 20
	totalMost = 2 << 30
)

// storeMeta is the record under key "0" of the table meta. What else stands there, a key of the CLI's among it, is not read.
type storeMeta struct {
	AgentID       string
	Root          string
	Name, Mode    string
	CreatedAt     time.Time
	LastUsedModel string
	// Keyed says that there is a key for encrypting blobs. The key itself is never kept.
	Keyed bool
}

// chatStore is a private copy of a chat's store.db.
type chatStore struct {
	path string // of the original, for messages
	dir  string // of the copy
	db   *sql.DB
	meta storeMeta
	// empty says that no turn has been stored yet.
	empty bool
}

var sqliteMagic = []byte("SQLite format 3\x00")

// openStore reads a store as it stands at this moment. The caller closes it.
func openStore(ctx context.Context, path string) (*chatStore, error) {
	dir, at, err := snapshot(ctx, path)
	s := &chatStore{path: path, dir: dir}
	if err == nil {
		err = s.open(ctx, at)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *chatStore) close() {
	if s.db != nil {
		_ = s.db.Close()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

func (s *chatStore) open(ctx context.Context, at string) error {
	head, err := readHead(at, len(sqliteMagic))
	if err != nil {
		return unreadable(s.path, err)
	}
	if len(head) == 0 && !busy(at+"-wal") {
		s.empty = true
		return nil
	}
	if !bytes.Equal(head, sqliteMagic) {
		return s.foreign("it is no SQLite database")
	}
	query := url.Values{"_pragma": {"busy_timeout(1000)", "trusted_schema(0)", "query_only(1)", "cell_size_check(1)", "mmap_size(0)"}}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: at, RawQuery: query.Encode()}
	if s.db, err = sql.Open("sqlite", dsn.String()); err != nil {
		return s.torn("the database", err)
	}
	s.db.SetMaxOpenConns(1)
	if err := s.checkTables(ctx); err != nil || s.empty {
		return err
	}
	return s.readMeta(ctx)
}

func readHead(path string, n int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, n)
	m, _ := f.Read(head)
	return head[:m], nil
}

// checkTables sees that the two tables are tables, with keys to look things up by: a view could go on for ever.
func (s *chatStore) checkTables(ctx context.Context) error {
	rows, err := s.db.QueryContext(ctx, `SELECT name, type, rootpage FROM sqlite_master WHERE type IN ('table', 'view') LIMIT 100`)
	if err != nil {
		return s.torn("its list of tables", err)
	}
	defer rows.Close()
	found, other := 0, 0
	for rows.Next() {
		var name, kind string
		var page int64
		if err := rows.Scan(&name, &kind, &page); err != nil {
			return s.torn("its list of tables", err)
		}
		if (name == "blobs" || name == "meta") && kind == "table" && page > 0 {
			found++
		} else {
			other++
		}
	}
	if err := rows.Err(); err != nil {
		return s.torn("its list of tables", err)
	}
	switch {
	case found+other == 0:
		s.empty = true
		return nil
	case found < 2:
		return s.foreign("it has no tables blobs and meta")
	}
	for table, columns := range map[string][2]string{"blobs": {"id", "data"}, "meta": {"key", "value"}} {
		var keys, all int
		err := s.db.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE name = ? AND pk = 1), count(*) FILTER (WHERE name IN (?, ?)) FROM pragma_table_info(?)`,
			columns[0], columns[0], columns[1], table).Scan(&keys, &all)
		if err != nil {
			return s.torn("the table "+table, err)
		}
		if keys != 1 || all != 2 {
			return s.foreign("its table " + table + " has other columns")
		}
	}
	return nil
}

func (s *chatStore) readMeta(ctx context.Context) error {
	var value []byte
	err := s.db.QueryRowContext(ctx, `SELECT CAST(value AS BLOB) FROM meta WHERE key = '0' AND length(value) < 1048576`).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		var any int
		if err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM blobs LIMIT 1)`).Scan(&any); err != nil {
			return s.torn("the table blobs", err)
		}
		if s.empty = any == 0; s.empty {
			return nil
		}
		return s.torn("its meta record", errors.New("it is not there"))
	}
	if err != nil {
		return s.torn("its meta record", err)
	}
	meta, err := decodeMeta(value)
	if err != nil {
		return s.torn("its meta record", err)
	}
	s.meta, s.empty = meta, meta.Root == ""
	return nil
}

// decodeMeta reads hex of JSON, or the JSON itself, as one machine had it.
func decodeMeta(value []byte) (storeMeta, error) {
	value = bytes.TrimSpace(value)
	text := value
	if !bytes.HasPrefix(value, []byte("{")) {
		text = make([]byte, hex.DecodedLen(len(value)))
		if _, err := hex.Decode(text, value); err != nil {
			return storeMeta{}, errors.New("it is neither JSON nor hex of it")
		}
	}
	var m struct {
		AgentID           string          `json:"agentId"`
		LatestRootBlobID  string          `json:"latestRootBlobId"`
		Name              string          `json:"name"`
		Mode              string          `json:"mode"`
		CreatedAt         json.RawMessage `json:"createdAt"`
		LastUsedModel     string          `json:"lastUsedModel"`
		BlobEncryptionKey json.RawMessage `json:"blobEncryptionKey"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		// The error may quote what stands there, and there may be a key.
		return storeMeta{}, errors.New("it is no JSON object of the shape that is known")
	}
	keyed := len(m.BlobEncryptionKey) > 0 && !bytes.Equal(m.BlobEncryptionKey, []byte("null")) && !bytes.Equal(m.BlobEncryptionKey, []byte(`""`))
	return storeMeta{AgentID: m.AgentID, Root: strings.ToLower(m.LatestRootBlobID), Name: m.Name, Mode: m.Mode, CreatedAt: millis(m.CreatedAt),
		LastUsedModel: m.LastUsedModel, Keyed: keyed}, nil
}

// millis reads a time: milliseconds, as a number or in a string, or RFC 3339. The zero time is one that makes no sense.
func millis(v json.RawMessage) time.Time {
	text := strings.Trim(string(v), `"`)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC()
	}
	n := integer([]byte(text))
	if n < 1e12 || n > 1e14 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// messageIDs gives the ids of the conversation's messages in order.
func (s *chatStore) messageIDs(ctx context.Context) ([][sha256.Size]byte, error) {
	if s.empty {
		return nil, nil
	}
	if raw, err := hex.DecodeString(s.meta.Root); err != nil || len(raw) != sha256.Size {
		return nil, s.torn("its meta record", errors.New("it names no root"))
	}
	root, err := s.blob(ctx, s.meta.Root)
	if err != nil {
		return nil, err
	}
	ids, err := decodeRoot(root)
	if err != nil {
		return nil, s.foreign("its root " + short(s.meta.Root) + " is not of the known form: " + err.Error())
	}
	return ids, nil
}

// blob reads one blob and sees that it is the one its id says.
func (s *chatStore) blob(ctx context.Context, id string) ([]byte, error) {
	var size int64
	err := s.db.QueryRowContext(ctx, `SELECT length(CAST(data AS BLOB)) FROM blobs WHERE id = ? AND data IS NOT NULL`, id).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, s.torn("blob "+short(id), errors.New("it is not there"))
	}
	if err != nil {
		return nil, s.torn("blob "+short(id), err)
	}
	if size > blobMost {
		return nil, substrat.Errorf(substrat.CodeTooLarge, "cannot read %s: its blob %s has %d bytes, more than %d", s.path, short(id), size, blobMost)
	}
	var data []byte
	if err := s.db.QueryRowContext(ctx, `SELECT CAST(data AS BLOB) FROM blobs WHERE id = ?`, id).Scan(&data); err != nil {
		return nil, s.torn("blob "+short(id), err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != id {
		return nil, s.torn("blob "+short(id), errors.New("its content is not what its id says"))
	}
	return data, nil
}

func short(id string) string { return id[:min(len(id), 12)] }

// foreign says that a file is not what it should be; torn that it was, and something of it is lost.
func (s *chatStore) foreign(why string) error {
	return substrat.Errorf(substrat.CodeInvalid, "cannot read %s as a chat of Cursor's CLI: %s", s.path, why).
		WithHint("if the CLI itself still resumes this chat, its format is newer than this program")
}

func (s *chatStore) torn(what string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return substrat.Errorf(substrat.CodeInvalid, "cannot read %s: %s is damaged or incomplete: %v", s.path, what, err).
		WithHint("the file was cut off, or copied without its -wal; restore it from a backup, or begin a new chat")
}

func (s *chatStore) encrypted() error {
	return substrat.Errorf(substrat.CodeUnsupported, "cannot read the messages of %s: they are encrypted", s.path).
		WithHint("resume the chat with the CLI itself, which has the key")
}
