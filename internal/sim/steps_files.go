package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxFile bounds what a step reads of a file.
const maxFile = 16 << 20

// slurp reads a regular file; anything else could block for ever.
func slurp(path string) (data []byte, cut bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	data, err = io.ReadAll(io.LimitReader(file, maxFile+1))
	if len(data) > maxFile {
		return data[:maxFile], true, err
	}
	return data, false, err
}

func (t *turn) readStep(s step, name string) error {
	path := t.space.resolve(name)
	offset, limit := int(s.number("offset", 0)), int(s.number("limit", 0))
	args := object{{"path", path}}
	if offset > 0 {
		args = args.with(field{"offset", offset})
	}
	if limit > 0 {
		args = args.with(field{"limit", limit})
	}
	return t.simple("read", "Read", func(string) object { return args }, func() outcome {
		if !t.choice.rules.reads(path) {
			text := "Reading " + path + " is not permitted"
			return failure("error", text, field{"errorMessage", text})
		}
		return read(path, offset, limit)
	})
}

func read(path string, offset, limit int) outcome {
	data, cut, err := slurp(path)
	if err != nil {
		text := "Cannot read the file: " + err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			text = "File not found: " + path
		}
		return failure("error", text, field{"errorMessage", text})
	}
	lines := strings.Split(string(data), "\n")
	first := min(max(offset, 1), len(lines))
	last := len(lines)
	if limit > 0 {
		last = min(first+limit-1, last)
	}
	text := strings.Join(lines[first-1:last], "\n")
	return succeeded(text,
		field{"content", text}, field{"isEmpty", len(data) == 0}, field{"exceededLimit", cut},
		field{"totalLines", len(lines)}, field{"fileSize", len(data)}, field{"path", path},
		field{"readRange", object{{"startLine", first}, {"endLine", last}}},
		field{"relatedCursorRulePaths", []any{}}, field{"relatedCursorRules", []any{}})
}

// writeStep makes or replaces a file. The real program does it with the edit tool since 2026.07.
func (t *turn) writeStep(s step, name string) error {
	path, text := t.space.resolve(name), s.text("content")
	args := object{{"path", path}, {"streamContent", text}}
	return t.simple("edit", "Write", func(string) object { return args }, func() outcome {
		if !t.choice.rules.edits(path) {
			return rejectedEdit(path)
		}
		before, _, err := slurp(path)
		isNew := errors.Is(err, fs.ErrNotExist)
		if err != nil && !isNew {
			return failedEdit(path, err)
		}
		return replaceFile(path, before, []byte(text), isNew, "Wrote contents to "+path)
	})
}

// editStep replaces the one place where the old text stands.
func (t *turn) editStep(s step, name string) error {
	path, old, fresh := t.space.resolve(name), s.text("old"), s.text("new")
	args := object{{"path", path}, {"streamContent", fresh}}
	return t.simple("edit", "StrReplace", func(string) object { return args }, func() outcome {
		if !t.choice.rules.edits(path) {
			return rejectedEdit(path)
		}
		before, cut, err := slurp(path)
		switch n := bytes.Count(before, []byte(old)); {
		case err != nil:
			return failedEdit(path, err)
		case cut:
			return failedEdit(path, fmt.Errorf("cannot edit: the file is longer than %d bytes", maxFile))
		case old == "" || n == 0:
			return failedEdit(path, errors.New("cannot edit: the text to replace is not in the file"))
		case n > 1:
			return failedEdit(path, fmt.Errorf("cannot edit: the text to replace stands %d times in the file, it must be unique", n))
		}
		after := bytes.Replace(before, []byte(old), []byte(fresh), 1)
		return replaceFile(path, before, after, false, "The file "+path+" has been updated.")
	})
}

func rejectedEdit(path string) outcome {
	o := failure("rejected", "Rejected", field{"path", path}, field{"reason", ""})
	o.rejected = true
	return o
}

func failedEdit(path string, err error) outcome {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure("fileNotFound", "File not found: "+path, field{"path", path})
	case errors.Is(err, fs.ErrPermission):
		return failure("writePermissionDenied", "Permission denied: "+path, field{"path", path})
	}
	return failure("error", err.Error(), field{"path", path}, field{"error", err.Error()})
}

func replaceFile(path string, before, after []byte, isNew bool, text string) outcome {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return failedEdit(path, err)
	}
	if err := os.WriteFile(path, after, 0o644); err != nil {
		return failedEdit(path, err)
	}
	d := diffFiles(path, string(before), string(after), isNew)
	fields := object{{"path", path}, {"linesAdded", d.added}, {"linesRemoved", d.removed}, {"diffString", d.text}}
	if !isNew {
		fields = fields.with(field{"beforeFullFileContent", string(before)})
	}
	return succeeded(text, fields.with(field{"afterFullFileContent", string(after)}, field{"message", text})...)
}

func (t *turn) deleteStep(name string) error {
	path := t.space.resolve(name)
	return t.simple("delete", "Delete",
		func(id string) object { return object{{"path", path}, {"toolCallId", id}} },
		func() outcome {
			if !t.choice.rules.edits(path) {
				return rejectedEdit(path)
			}
			return remove(path)
		})
}

func remove(path string) outcome {
	data, _, err := slurp(path)
	if err == nil {
		err = os.Remove(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure("fileNotFound", "File not found: "+path, field{"path", path})
	case err != nil:
		return failure("error", err.Error(), field{"path", path}, field{"error", err.Error()})
	}
	return succeeded("Deleted "+path,
		field{"path", path}, field{"deletedFile", filepath.Base(path)},
		field{"fileSize", strconv.Itoa(len(data))}, field{"prevContent", string(data)})
}
