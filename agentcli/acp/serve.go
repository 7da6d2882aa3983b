package acp

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"substrat.dev/substrat/agentcli"
)

// serve answers the requests that need nobody: files and terminals, where they were offered.
func (t *turn) serve(m message) (any, *rpcError) {
	switch {
	case t.p.opts.FS && m.Method == "fs/read_text_file":
		return t.readFile(m.Params)
	case t.p.opts.FS && m.Method == "fs/write_text_file" && mayChange(t.req):
		return t.writeFile(m.Params)
	case t.p.opts.Terminals && mayChange(t.req) && strings.HasPrefix(m.Method, "terminal/"):
		return t.terminal(m)
	}
	return nil, &rpcError{Code: codeMethodNotFound, Message: "method not found: " + clip(m.Method)}
}

// mayChange reports a turn in which the agent may change something: only then is it offered what can.
func mayChange(req agentcli.Request) bool {
	return req.Mode != agentcli.ModePlan && req.Mode != agentcli.ModeAsk
}

// fileMost bounds what is read and written for an agent.
const fileMost = 16 << 20

type fileParams struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Line    int    `json:"line"` // the first to read, from 1; 0 is the first too
	Limit   *int   `json:"limit"`
}

// file opens the workspace for a path in it. No symbolic link leads out.
func (t *turn) file(params json.RawMessage) (p fileParams, root *os.Root, name string, e *rpcError) {
	if json.Unmarshal(params, &p) != nil || !filepath.IsAbs(p.Path) {
		return p, nil, "", &rpcError{Code: codeInvalidParams, Message: "the path has to be absolute"}
	}
	name, err := filepath.Rel(t.req.Dir, filepath.Clean(p.Path))
	if err != nil || !filepath.IsLocal(name) {
		return p, nil, "", &rpcError{Code: codeInvalidParams, Message: "the path is not in the workspace: " + clip(p.Path)}
	}
	if root, err = os.OpenRoot(t.req.Dir); err != nil {
		return p, nil, "", &rpcError{Code: codeInternal, Message: "cannot open the workspace"}
	}
	return p, root, name, nil
}

func fileError(path string, err error) *rpcError {
	if errors.Is(err, fs.ErrNotExist) {
		return &rpcError{Code: codeNotFound, Message: "no such file: " + clip(path)}
	}
	return &rpcError{Code: codeInternal, Message: clip(err.Error())}
}

func (t *turn) readFile(params json.RawMessage) (any, *rpcError) {
	p, root, name, e := t.file(params)
	if e != nil {
		return nil, e
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(name)
	if err != nil {
		return nil, fileError(p.Path, err)
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, &rpcError{Code: codeInvalidParams, Message: "not a file: " + clip(p.Path)}
	}
	data, err := io.ReadAll(io.LimitReader(f, fileMost+1))
	if err != nil {
		return nil, fileError(p.Path, err)
	}
	if len(data) > fileMost {
		return nil, &rpcError{Code: codeInvalidParams, Message: "the file is too large to be read whole: " + clip(p.Path)}
	}
	return map[string]string{"content": window(string(data), p.Line, p.Limit)}, nil
}

// window gives the lines of a text from one on, as many as the limit says.
func window(text string, line int, limit *int) string {
	if line <= 1 && limit == nil {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	lines = lines[min(max(line-1, 0), len(lines)):]
	if limit != nil {
		lines = lines[:min(max(*limit, 0), len(lines))]
	}
	return strings.Join(lines, "")
}

func (t *turn) writeFile(params json.RawMessage) (any, *rpcError) {
	p, root, name, e := t.file(params)
	if e != nil {
		return nil, e
	}
	defer func() { _ = root.Close() }()
	if len(p.Content) > fileMost {
		return nil, &rpcError{Code: codeInvalidParams, Message: "the content is too large"}
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return nil, fileError(p.Path, err)
		}
	}
	if st, err := root.Stat(name); err == nil && !st.Mode().IsRegular() {
		return nil, &rpcError{Code: codeInvalidParams, Message: "not a file: " + clip(p.Path)}
	}
	if err := root.WriteFile(name, []byte(p.Content), 0o644); err != nil {
		return nil, fileError(p.Path, err)
	}
	return struct{}{}, nil
}
