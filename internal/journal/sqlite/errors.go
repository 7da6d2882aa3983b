package sqlite

import (
	"context"
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// coded is an error with a SQLite result code, as the driver's are.
type coded interface {
	error
	Code() int
}

// resultCode gives the extended result code of an error of SQLite, 0 if it is none.
func resultCode(err error) int {
	var c coded
	if errors.As(err, &c) {
		return c.Code()
	}
	return 0
}

// classify turns what a read or a refused write met into an error for the caller. It does not make it stick.
func (j *Journal) classify(doing string, err error) error {
	var known *substrat.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code := resultCode(err)
	switch code & 0xff {
	case 0:
		return substrat.Errorf(substrat.CodeInternal, "cannot %s: %v", doing, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return substrat.Errorf(substrat.CodeUnavailable, "cannot %s: %v", doing, err).
			WithHint("another program holds the journal locked")
	case sqlite3.SQLITE_TOOBIG:
		return substrat.Errorf(substrat.CodeTooLarge, "cannot %s: %v", doing, err)
	case sqlite3.SQLITE_FULL:
		return full(doing, j.path, err)
	}
	if code == sqlite3.SQLITE_IOERR_SHMSIZE {
		return full(doing, j.path, err)
	}
	return storage(doing, err)
}

// classifyWrite is classify for the write connection. What leaves open whether the disk still does what it says, or says
// that the file is damaged, ends the journal's life. SHMSIZE does not: it means there was no room for the WAL's index,
// which holds nothing that is not in the WAL.
func (j *Journal) classifyWrite(doing string, err error) error {
	class := j.classify(doing, err)
	code := resultCode(err)
	if code == sqlite3.SQLITE_IOERR_SHMSIZE {
		return class
	}
	switch code & 0xff {
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		fatal := fmt.Errorf("%w: %w", journal.ErrFatal, class)
		j.fatal.CompareAndSwap(nil, &fatal)
		return *j.fatal.Load()
	}
	return class
}

// classifyOpen is classify for a file of which nothing is known yet.
func (j *Journal) classifyOpen(err error) error {
	if resultCode(err)&0xff == sqlite3.SQLITE_NOTADB {
		return foreign(j.path)
	}
	return j.classify("open the journal "+j.path, err)
}

func full(doing, path string, err error) error {
	return substrat.Errorf(substrat.CodeStorage, "cannot %s: %v", doing, err).
		WithHint("make room on the disk of %s; nothing that was acknowledged is lost, and work goes on when there is room", path)
}

func storage(doing string, err error) error {
	return substrat.Errorf(substrat.CodeStorage, "cannot %s: %v", doing, err)
}

// damaged is the error for content that is not what was written. It names the place.
func damaged(format string, args ...any) error {
	return substrat.Errorf(substrat.CodeStorage, "the journal is damaged: "+format, args...).
		WithHint("restore the file from a backup, or ask for help before you change it")
}

// unreadable is the error for a row whose columns are not of their types: SQLite itself does not check that when it
// reads, so it means damage, unless the reader was interrupted.
func unreadable(err error, format string, args ...any) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return damaged("%s cannot be read: %v", fmt.Sprintf(format, args...), err)
}
