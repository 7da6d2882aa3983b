package cursor

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// importMost bounds a store that is taken over: it passes through memory.
const importMost = 512 << 20

// Import implements agentcli.Importer: the store as it stands at this moment, with its log worked in, where the CLI looks for
// the chats of dir.
func (p *Provider) Import(ctx context.Context, from agentcli.StoredSession, dir string) ([]agentcli.File, error) {
	if !chatID.MatchString(from.ID) {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot take over session %.120q: that is no id of a chat", from.ID)
	}
	source, at := filepath.Dir(from.Path), path.Join(".cursor", chatsDir, WorkspaceHash(dir), from.ID)
	meta, err := movedMeta(filepath.Join(source, "meta.json"), from, dir)
	if err != nil {
		return nil, err
	}
	files := []agentcli.File{{Root: agentcli.InHome, Path: path.Join(at, "meta.json"), Data: meta, KeepExisting: true}}
	var prompts json.RawMessage
	if readJSON(filepath.Join(source, "prompt_history.json"), &prompts) {
		files = append(files, agentcli.File{Root: agentcli.InHome, Path: path.Join(at, "prompt_history.json"), Data: prompts, KeepExisting: true})
	}
	store, err := wholeStore(ctx, from.Path)
	if errors.Is(err, fs.ErrNotExist) && busy(filepath.Join(source, "meta.json")) {
		return files, nil // made, and never used
	}
	if err != nil {
		return nil, err
	}
	return append(files, agentcli.File{Root: agentcli.InHome, Path: path.Join(at, storeName), Data: store, KeepExisting: true}), nil
}

// movedMeta is meta.json with another workspace in it. What else it holds stays.
func movedMeta(file string, from agentcli.StoredSession, dir string) ([]byte, error) {
	m := map[string]json.RawMessage{}
	if !readJSON(file, &m) || m == nil {
		m = map[string]json.RawMessage{"schemaVersion": json.RawMessage("1"), "hasConversation": json.RawMessage("true")}
		created := from.CreatedAt
		if created.IsZero() {
			created = time.Now()
		}
		stamp, err := json.Marshal(created.UnixMilli())
		if err != nil {
			return nil, err
		}
		m["createdAtMs"], m["updatedAtMs"] = stamp, stamp
	}
	cwd, err := encode(dir)
	if err != nil {
		return nil, err
	}
	m["cwd"] = bytes.TrimSpace(cwd)
	return encode(m)
}

// wholeStore gives a store as one file.
func wholeStore(ctx context.Context, store string) ([]byte, error) {
	dir, at, err := snapshot(ctx, store)
	defer os.RemoveAll(dir)
	if err != nil {
		return nil, err
	}
	if busy(at + "-wal") {
		if err := workIn(ctx, at); err != nil {
			return nil, (&chatStore{path: store}).torn("the database", err)
		}
	}
	st, err := os.Stat(at)
	if err != nil {
		return nil, unreadable(store, err)
	}
	if st.Size() > importMost {
		return nil, substrat.Errorf(substrat.CodeTooLarge, "cannot take over %s: it is over %d MiB", store, importMost>>20)
	}
	head, err := readHead(at, len(sqliteMagic))
	if err != nil {
		return nil, unreadable(store, err)
	}
	if st.Size() > 0 && !bytes.Equal(head, sqliteMagic) {
		return nil, (&chatStore{path: store}).foreign("it is no SQLite database")
	}
	return os.ReadFile(at)
}

// workIn puts what is in the log of a copy into the database.
func workIn(ctx context.Context, copied string) error {
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: copied, RawQuery: "_pragma=busy_timeout(1000)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return err
	}
	var stuck, log, done int
	err = db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&stuck, &log, &done)
	if err == nil && stuck != 0 {
		err = errors.New("its log cannot be worked in")
	}
	return errors.Join(err, db.Close())
}
