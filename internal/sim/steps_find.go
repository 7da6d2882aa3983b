package sim

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Limits of the searching tools, so that a step on a large tree ends.
const (
	maxFound   = 2000
	maxEntries = 2000
	lsDepth    = 3
)

func skipDir(name string) bool { return name == ".git" || name == "node_modules" }

func (t *turn) lsStep(name string) error {
	dir := t.space.resolve(name)
	return t.simple("ls", "LS",
		func(id string) object { return object{{"path", dir}, {"ignore", []any{}}, {"toolCallId", id}} },
		func() outcome {
			if _, err := os.ReadDir(dir); err != nil {
				return failure("error", err.Error(), field{"path", dir}, field{"error", err.Error()})
			}
			left := maxEntries
			var names strings.Builder
			tree := listTree(dir, "", lsDepth, &left, &names)
			return succeeded(names.String(), field{"directoryTreeRoot", tree})
		})
}

// listTree reads a directory; names gets one line per entry. Symlinks are shown and not followed.
func listTree(dir, prefix string, depth int, left *int, names *strings.Builder) object {
	dirs, files := []object{}, []object{}
	entries, _ := os.ReadDir(dir) // a directory that cannot be read shows as empty
	for _, e := range entries {
		if *left <= 0 || skipDir(e.Name()) {
			continue
		}
		*left--
		rel := prefix + e.Name()
		if !e.IsDir() {
			fmt.Fprintln(names, rel)
			files = append(files, object{{"name", e.Name()}})
			continue
		}
		fmt.Fprintln(names, rel+"/")
		if depth > 1 {
			dirs = append(dirs, listTree(filepath.Join(dir, e.Name()), rel+"/", depth-1, left, names))
		}
	}
	return object{{"absPath", dir}, {"childrenDirs", dirs}, {"childrenFiles", files}}
}

// walk gives the regular files under dir with their slash-separated path from it, until found says it is enough.
func walk(ctx context.Context, dir string, found func(rel string) (more bool)) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && name == dir:
			return err
		case err != nil:
			return nil // what cannot be read is passed over
		case e.IsDir() && skipDir(e.Name()) && name != dir:
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || found(filepath.ToSlash(rel)) {
			return err
		}
		return fs.SkipAll
	})
}

func (t *turn) globStep(ctx context.Context, s step, pattern string) error {
	dir := t.space.resolve(s.text("path"))
	return t.simple("glob", "Glob",
		func(string) object { return object{{"targetDirectory", dir}, {"globPattern", pattern}} },
		func() outcome {
			files, cut := []string{}, false
			err := walk(ctx, dir, func(rel string) bool {
				if globMatch(pattern, rel) {
					cut = len(files) == maxFound
					if !cut {
						files = append(files, rel)
					}
				}
				return !cut
			})
			if err != nil {
				return failure("error", err.Error(), field{"errorMessage", err.Error()})
			}
			return succeeded(strings.Join(files, "\n"),
				field{"pattern", ""}, field{"path", dir}, field{"files", files}, field{"totalFiles", len(files)},
				field{"clientTruncated", cut}, field{"ripgrepTruncated", false})
		})
}

// globMatch matches a path; ** stands for any number of directories, and a pattern without a slash for any depth.
func globMatch(pattern, name string) bool {
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	return globParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func globParts(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		for len(pattern) > 1 && pattern[1] == "**" {
			pattern = pattern[1:]
		}
		return globParts(pattern[1:], name) || len(name) > 0 && globParts(pattern, name[1:])
	}
	if len(name) == 0 {
		return false
	}
	hit, err := path.Match(pattern[0], name[0])
	return err == nil && hit && globParts(pattern[1:], name[1:])
}

func (t *turn) grepStep(ctx context.Context, s step, pattern string) error {
	where := s.text("path")
	dir := t.space.resolve(where)
	return t.simple("grep", "Grep",
		func(id string) object {
			return object{
				{"pattern", pattern}, {"path", dir}, {"caseInsensitive", s.flag("ignore_case")}, {"multiline", false},
				{"toolCallId", id}, {"offset", 0},
			}
		},
		func() outcome {
			expr := pattern
			if s.flag("ignore_case") {
				expr = "(?i)" + expr
			}
			re, err := regexp.Compile(expr)
			if err != nil {
				return failure("error", err.Error(), field{"error", err.Error()})
			}
			hits, err := grep(ctx, re, dir)
			if err != nil {
				return failure("error", err.Error(), field{"error", err.Error()})
			}
			return hits.outcome(pattern, dir, string(t.space))
		})
}

// hits is what a search found.
type hits struct {
	files []object
	lines int
	cut   bool
	text  strings.Builder
}

func grep(ctx context.Context, re *regexp.Regexp, dir string) (*hits, error) {
	h := &hits{files: []object{}}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		h.file(re, dir, filepath.Base(dir))
		return h, nil
	}
	err = walk(ctx, dir, func(rel string) bool {
		h.file(re, filepath.Join(dir, rel), rel)
		return !h.cut
	})
	return h, err
}

// file searches one file, unless it looks binary.
func (h *hits) file(re *regexp.Regexp, name, rel string) {
	data, _, err := slurp(name)
	if err != nil || strings.ContainsRune(string(data[:min(len(data), 8000)]), 0) || !utf8.Valid(data) {
		return
	}
	var matches []object
	for i, line := range splitLines(string(data)) {
		if !re.MatchString(line) {
			continue
		}
		if h.lines == maxFound {
			h.cut = true
			break
		}
		h.lines++
		fmt.Fprintf(&h.text, "%s:%d:%s\n", rel, i+1, line)
		matches = append(matches, object{
			{"lineNumber", i + 1}, {"content", line}, {"contentTruncated", false}, {"isContextLine", false},
		})
	}
	if matches != nil {
		h.files = append(h.files, object{{"file", "./" + rel}, {"matches", matches}})
	}
}

func (h *hits) outcome(pattern, dir, space string) outcome {
	content := object{
		{"matches", h.files}, {"totalLines", h.lines}, {"totalMatchedLines", h.lines},
		{"clientTruncated", h.cut}, {"ripgrepTruncated", false},
	}
	return succeeded(h.text.String(),
		field{"pattern", pattern}, field{"path", dir}, field{"outputMode", "content"},
		field{"workspaceResults", object{{space, object{{"content", content}}}}})
}
