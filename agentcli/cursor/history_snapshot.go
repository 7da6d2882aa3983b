package cursor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"substrat.dev/substrat"
)

// A chat's store is an SQLite database in WAL mode that the CLI writes during a turn. An SQLite reader beside it would take
// locks, could make a checkpoint wait, and could leave files of its own. So the files are copied without any lock, and the
// copy is proven:
//
//   - Within one generation of the log (its header holds two salts, and is written anew when the log starts over) the log
//     only grows, and the database changes only by pages that are in the log.
//   - So where the header is the same before the database is copied and after the log was, every page that changed under
//     the copying is in the copy of the log, up to a commit that SQLite finds by the log's checksums.
//   - Without a log nothing is written, or the header of a new one, the file's time or its size tells.
//
// Closing a file gives up all POSIX locks that the process holds on it: nobody in this process may hold a store open.

const (
	walHeader = 32
	// racy is how old the last change must be for a file's time to prove that there was none since: file systems tick.
	racy          = 20 * time.Millisecond
	snapshotTries = 200
	snapshotPause = 20 * time.Millisecond // at the most
	storeMost     = 4 << 30
)

// moved says that the files changed while they were copied.
var errMoved = errors.New("the store changed while it was read")

// snapshot copies a store to a directory of its own, which the caller removes, and gives the copy's path.
func snapshot(ctx context.Context, store string) (dir, path string, err error) {
	dir, err = os.MkdirTemp("", "substrat-chat-")
	if err != nil {
		return "", "", substrat.Errorf(substrat.CodeStorage, "cannot copy %s to read it: %v", store, err).WithHint("make room in %s", os.TempDir())
	}
	path = filepath.Join(dir, "store.db")
	for try := range snapshotTries {
		err = copyStore(store, path)
		if !errors.Is(err, errMoved) {
			break
		}
		select {
		case <-ctx.Done():
			return dir, "", ctx.Err()
		case <-time.After(min(time.Duration(try+1)*time.Millisecond, snapshotPause)):
		}
	}
	if errors.Is(err, errMoved) {
		err = substrat.Errorf(substrat.CodeConflict, "cannot read %s: it is being written without a pause", store).WithHint("try again when the turn has ended")
	}
	return dir, path, err
}

// copyStore copies the database and then its log, and proves that they belong together.
func copyStore(store, to string) error {
	c := storeCopy{from: store, to: to}
	for _, step := range []func() error{c.begin, c.database, c.log, c.prove} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// storeCopy is one attempt at a copy. Between its steps the store's owner may do what it wants.
type storeCopy struct {
	from, to string
	head     []byte      // of the log, before anything is copied
	before   fs.FileInfo // of the database
}

func (c *storeCopy) begin() (err error) {
	if c.before, err = os.Lstat(c.from); err != nil {
		return unreadable(c.from, err)
	}
	if !c.before.Mode().IsRegular() {
		return substrat.Errorf(substrat.CodeInvalid, "cannot read %s: it is no regular file", c.from)
	}
	if busy(c.from + "-journal") {
		return errMoved
	}
	c.head, err = logHeader(c.from)
	return err
}

func (c *storeCopy) database() error { return copyTo(c.from, c.to) }

func (c *storeCopy) log() error {
	if err := os.Remove(c.to + "-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return substrat.Errorf(substrat.CodeStorage, "cannot copy %s: %v", c.from, err)
	}
	if c.head == nil {
		return nil
	}
	err := copyTo(c.from+"-wal", c.to+"-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return errMoved
	}
	return err
}

func (c *storeCopy) prove() error {
	head, err := logHeader(c.from)
	if err != nil {
		return err
	}
	if !bytes.Equal(c.head, head) || head == nil && changed(c.from, c.before) {
		return errMoved
	}
	return nil
}

// busy reports whether a file is there and holds something.
func busy(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Size() > 0
}

// changed reports whether a file was, or may have been, written since.
func changed(path string, before fs.FileInfo) bool {
	st, err := os.Lstat(path)
	if err != nil || !os.SameFile(st, before) || st.Size() != before.Size() || !st.ModTime().Equal(before.ModTime()) {
		return true
	}
	return time.Since(st.ModTime()).Abs() < racy || busy(path+"-journal")
}

// logHeader gives the header of a store's log, nil if there is no log or nothing in it.
func logHeader(store string) ([]byte, error) {
	f, err := os.Open(store + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(store+"-wal", err)
	}
	defer f.Close()
	head := make([]byte, walHeader)
	if _, err := io.ReadFull(f, head); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, nil
		}
		return nil, unreadable(store+"-wal", err)
	}
	return head, nil
}

func copyTo(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return unreadable(from, err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return substrat.Errorf(substrat.CodeStorage, "cannot copy %s: %v", from, err)
	}
	n, err := io.Copy(dst, io.LimitReader(src, storeMost))
	if err = errors.Join(err, dst.Close()); err != nil {
		return substrat.Errorf(substrat.CodeStorage, "cannot copy %s: %v", from, err)
	}
	if n >= storeMost {
		return substrat.Errorf(substrat.CodeTooLarge, "cannot read %s: it is over %d GiB", from, storeMost>>30)
	}
	return nil
}

// fileError keeps the cause, which the message for people does not.
type fileError struct {
	said  *substrat.Error
	cause error
}

func (e *fileError) Error() string { return e.said.Error() }

func (e *fileError) Unwrap() []error { return []error{e.said, e.cause} }

// unreadable says why a file of a chat cannot be read.
func unreadable(path string, err error) error {
	e := substrat.Errorf(substrat.CodeInvalid, "cannot read %s: %v", path, err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e = substrat.Errorf(substrat.CodeNotFound, "cannot read %s: it is not there", path)
	case errors.Is(err, fs.ErrPermission):
		e = substrat.Errorf(substrat.CodeForbidden, "cannot read %s: its owner does not let us", path).WithHint("read it as the user who owns it")
	}
	return &fileError{e, err}
}
