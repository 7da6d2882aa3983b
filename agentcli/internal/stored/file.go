package stored

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Bounds of one line, of a file that is read whole or copied, and of what a listing reads at the beginning and the end of one.
const (
	lineMost = 64 << 20
	FileMost = 512 << 20
	peekSize = 128 << 10
)

// Unreadable says why a file cannot be read.
func Unreadable(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return substrat.Errorf(substrat.CodeNotFound, "cannot read %s: it is not there", path)
	case errors.Is(err, fs.ErrPermission):
		return substrat.Errorf(substrat.CodeForbidden, "cannot read %s: its owner does not let us", path).WithHint("read it as the user who owns it")
	}
	return substrat.Errorf(substrat.CodeInvalid, "cannot read %s: %v", path, err)
}

// Foreign says that a file is not a conversation of this CLI.
func Foreign(path, cli string) error {
	return substrat.Errorf(substrat.CodeInvalid, "cannot read %s as a session of %s: nothing in it has the known form", path, cli).
		WithHint("if the CLI itself still resumes this session, its format is newer than this program")
}

// Open opens a regular file, and nothing else: a pipe would keep the reader waiting.
func Open(path string) (*os.File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, Unreadable(path, err)
	}
	if !st.Mode().IsRegular() {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot read %s: it is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, Unreadable(path, err)
	}
	return f, nil
}

// Damage counts the lines that could not be read.
type Damage struct {
	Lines, First int
}

// String says it for people; it is empty if there is none.
func (d Damage) String() string {
	if d.Lines == 0 {
		return ""
	}
	return fmt.Sprintf("%d of its lines cannot be read, the first is line %d", d.Lines, d.First)
}

// Lines calls f with each line that is a JSON object. The line is valid during the call only. A last line without its end is
// being written: it counts if it is whole, and is no damage if it is not.
func Lines(ctx context.Context, path string, f func(line []byte) error) (Damage, error) {
	var d Damage
	file, err := Open(path)
	if err != nil {
		return d, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return d, Unreadable(path, err)
	}
	lines := agentcli.NewLineReader(io.LimitReader(file, st.Size()), lineMost)
	for n, torn := 1, false; ; n++ {
		frame, err := lines.ReadFrame(ctx)
		if torn && err == nil {
			if d.Lines++; d.First == 0 {
				d.First = n - 1
			}
		}
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			if ctx.Err() != nil {
				return d, ctx.Err()
			}
			return d, Unreadable(path, err)
		}
		line := bytes.TrimSpace(frame.Data)
		torn = frame.Skipped > 0 || len(line) > 0 && (line[0] != '{' || !json.Valid(line))
		if torn || len(line) == 0 {
			continue
		}
		if err := f(line); err != nil {
			return d, err
		}
	}
}

// Peek calls f with the whole lines at the beginning of a file, and last with those at its end.
func Peek(path string, f, last func(line []byte)) error {
	file, err := Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buf := make([]byte, peekSize)
	n, err := io.ReadFull(file, buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Unreadable(path, err)
	}
	head := buf[:n]
	each(head, f)
	st, err := file.Stat()
	if err != nil {
		return Unreadable(path, err)
	}
	if st.Size() <= int64(n) {
		each(head, last)
		return nil
	}
	m, err := file.ReadAt(buf, max(0, st.Size()-peekSize))
	if err != nil && !errors.Is(err, io.EOF) {
		return Unreadable(path, err)
	}
	_, tail, _ := bytes.Cut(buf[:m], []byte("\n"))
	each(tail, last)
	return nil
}

func each(data []byte, f func([]byte)) {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' && json.Valid(line) {
			f(line)
		}
	}
}

// Whole reads a file to take it elsewhere, up to the end of its last whole line if it has lines.
func Whole(path string, lines bool) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, FileMost+1))
	if err != nil {
		return nil, Unreadable(path, err)
	}
	if len(data) > FileMost {
		return nil, substrat.Errorf(substrat.CodeTooLarge, "cannot take over %s: it is over %d MiB", path, FileMost>>20)
	}
	if end := bytes.LastIndexByte(data, '\n'); lines && !json.Valid(data[end+1:]) {
		data = data[:end+1]
	}
	return data, nil
}

// Pick chooses the one session that an id, or the beginning of one, stands for.
func Pick(cli, provider, id string, found []agentcli.StoredSession) (agentcli.StoredSession, error) {
	var fits []agentcli.StoredSession
	for _, s := range found {
		if s.ID == id {
			return s, nil
		}
		if id != "" && strings.HasPrefix(s.ID, id) {
			fits = append(fits, s)
		}
	}
	switch len(fits) {
	case 0:
		return agentcli.StoredSession{}, substrat.Errorf(substrat.CodeNotFound, "no session %.120q of %s", id, cli).
			WithHint("substrat session ls --provider %s shows what is there", provider)
	case 1:
		return fits[0], nil
	}
	return agentcli.StoredSession{}, substrat.Errorf(substrat.CodeAmbiguous, "%q fits %d sessions of %s", id, len(fits), cli).
		WithHint("give the whole id: %s, …", fits[0].ID)
}

// Newest puts the session that was used last first.
func Newest(list []agentcli.StoredSession) {
	slices.SortStableFunc(list, func(a, b agentcli.StoredSession) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(a.ID, b.ID))
	})
}

// Title makes a title of what a person wrote first.
func Title(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return string(r)
}

// Reason is what is wrong with a file, for where the file is named already.
func Reason(path string, err error) string {
	text := err.Error()
	var e *substrat.Error
	if errors.As(err, &e) {
		text = e.Message
	}
	if _, rest, ok := strings.Cut(text, path); ok {
		if _, why, ok := strings.Cut(rest, ": "); ok {
			return why
		}
	}
	return text
}
