package cursor

import (
	"slices"
	"strings"
)

// outputMost bounds the JSON that is shown of a result whose shape is not known.
const outputMost = 16 << 10

// output is what a call gave back, as text for people.
func output(native string, r fields, body value) string {
	if s := r.str("interleavedOutput"); s != "" {
		return s
	}
	if out, err := r.raw("stdout"), r.raw("stderr"); out != nil || err != nil {
		return str(out) + str(err)
	}
	if v := r.get("content"); v != nil {
		return contentText(v)
	}
	if s := r.str("markdown", "resultForModel", "message", "results", "text", "output"); s != "" {
		return s
	}
	if lines := listing(r); len(lines) > 0 {
		return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
	}
	return measure(native, r, body)
}

// listing is what consists of many: files, references, matches, the steps of a task.
func listing(r fields) []string {
	var out []string
	for _, m := range r {
		switch string(m.name) {
		case "files":
			each(m.value, func(v value) { out = append(out, str(v)) })
		case "references", "results", "codeResults":
			each(m.value, func(v value) { out = append(out, reference(v)) })
		case "conversationSteps":
			each(m.value, func(v value) { out = append(out, str(in(in(v, "assistantMessage"), "text"))) })
		case "workspaceResults":
			for w := members(m.value); ; {
				_, v, ok := w.member()
				if !ok {
					break
				}
				out = append(out, matches(v)...)
			}
		case "directoryTreeRoot":
			out = tree(out, m.value, "", 0)
		case "todos":
			each(m.value, func(v value) {
				t := todo(v)
				out = append(out, t.Status+": "+t.Content)
			})
		case "fileDiagnostics":
			each(m.value, func(v value) { out = append(out, diagnostics(v)...) })
		}
	}
	return out
}

// each calls f for the elements of an array.
func each(v value, f func(value)) {
	for w := elements(v); ; {
		v, ok := w.element()
		if !ok {
			return
		}
		f(v)
	}
}

// reference is one finding of a search: in the web, or in code.
func reference(v value) string {
	var space room
	f := fieldsOf(v, &space)
	if s := f.str("chunk", "content", "snippet", "text"); s != "" {
		return s
	}
	if block := f.get("codeBlock"); block != nil {
		return str(in(block, "relativeWorkspacePath")) + ": " + str(in(block, "contents"))
	}
	return f.str("title", "path", "url")
}

// matches writes the matches of one workspace the way grep does.
func matches(v value) []string {
	var out []string
	each(in(in(v, "content"), "matches"), func(file value) {
		name := str(in(file, "file"))
		each(in(file, "matches"), func(m value) {
			var space room
			f := fieldsOf(m, &space)
			sep := ":"
			if boolean(f.get("isContextLine")) {
				sep = "-"
			}
			out = append(out, name+sep+itoa(integer(f.get("lineNumber")))+sep+f.str("content"))
		})
	})
	each(in(in(v, "files"), "files"), func(file value) { out = append(out, str(file)) })
	each(in(in(v, "count"), "counts"), func(file value) {
		out = append(out, str(in(file, "file"))+":"+itoa(integer(in(file, "count"))))
	})
	return out
}

// treeDeepest bounds how deep a listed directory is shown, and treeMost how many names.
const (
	treeDeepest = 16
	treeMost    = 2000
)

// tree writes what is in a directory, one name a line, directories with a slash.
func tree(out []string, dir value, under string, deep int) []string {
	if deep > treeDeepest {
		return out
	}
	each(in(dir, "childrenDirs"), func(v value) {
		path := strings.TrimRight(str(in(v, "absPath")), "/")
		name := under + path[strings.LastIndexByte(path, '/')+1:] + "/"
		if len(out) < treeMost {
			out = tree(append(out, name), v, name, deep+1)
		}
	})
	each(in(dir, "childrenFiles"), func(v value) {
		if len(out) < treeMost {
			out = append(out, under+str(in(v, "name")))
		}
	})
	return out
}

// diagnostics writes what a linter found in one file.
func diagnostics(v value) []string {
	var out []string
	path := str(in(v, "path"))
	each(in(v, "diagnostics"), func(d value) {
		line := integer(in(in(in(d, "range"), "start"), "line"))
		out = append(out, path+":"+itoa(line)+": "+str(in(d, "message")))
	})
	return out
}

// measure is for results without text: how much there was, or the JSON itself.
func measure(native string, r fields, body value) string {
	switch native {
	case "write":
		if v := r.get("linesCreated"); v != nil {
			return itoa(integer(v)) + " lines written"
		}
	case "edit":
		if v := r.get("linesAdded"); v != nil {
			return itoa(integer(v)) + " lines added, " + itoa(integer(r.get("linesRemoved"))) + " removed"
		}
	case "delete":
		return r.str("prevContent")
	case "readLints":
		return itoa(integer(r.get("totalDiagnostics"))) + " findings"
	case "generateImage":
		return r.str("filePath")
	}
	if _, known := names[native]; known || len(r) == 0 {
		return ""
	}
	return strings.ToValidUTF8(string(body[:min(len(body), outputMost)]), "")
}
