package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// shape writes a JSON value as its keys in order and the kinds of its leaves. A key that is a path stands for any path,
// and a list has the shape of its first element.
func shape(value jsontext.Value) string {
	switch value.Kind() {
	case '{':
		list, _ := members(value)
		parts := []string{}
		for _, m := range list {
			name := m.name
			if strings.HasPrefix(name, "/") {
				name = "/"
			}
			parts = append(parts, name+":"+shape(m.value))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case '[':
		for _, item := range elements(value) {
			return "[" + shape(item) + "]"
		}
		return "[]"
	case '"':
		return "s"
	case 't', 'f':
		return "b"
	case 'n':
		return "null"
	}
	return "n"
}

// class names what kind of line it is, finely enough that all lines of a class have one shape.
func class(line jsontext.Value) (name, of string) {
	top, _ := members(line)
	name = getString(top, "type") + "/" + getString(top, "subtype")
	of = shape(line)
	if name == "assistant/" {
		return fmt.Sprintf("assistant call=%t time=%t", get(top, "model_call_id") != nil, get(top, "timestamp_ms") != nil), of
	}
	call, _ := members(get(top, "tool_call"))
	if len(call) == 0 {
		return name, of
	}
	body, _ := members(call[0].value)
	name += " " + call[0].name
	for _, m := range body {
		if m.name == "result" {
			result, _ := members(m.value)
			name += " " + result[0].name
			if outcome, _ := members(result[0].value); get(outcome, "diffString") != nil {
				name += fmt.Sprintf(" new=%t", get(outcome, "beforeFullFileContent") == nil)
			}
		}
	}
	return name, of
}

func recordings(t *testing.T) string {
	t.Helper()
	root := os.Getenv("SUBSTRAT_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	dir := filepath.Join(root, "recordings")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recordings to compare with: %v", err)
	}
	return dir
}

// classes gives the shapes of a stream's lines by class.
func classes(t *testing.T, data string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(data) {
		value := jsontext.Value(strings.TrimSpace(line))
		if !value.IsValid() {
			t.Fatalf("no JSON: %s", line)
		}
		name, of := class(value)
		if before, ok := all[name]; ok && before != of {
			t.Errorf("two shapes of %s:\n%s\n%s", name, before, of)
		}
		all[name] = of
	}
	return all
}

// cutArgs blanks what stands under args: the build of 2026.09 repeats only a part of a shell call's.
func cutArgs(of string) string {
	before, rest, ok := strings.Cut(of, "{args:")
	if !ok {
		return of
	}
	depth := 0
	for i, r := range rest {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 && r == '}' {
			return before + "{args:…" + rest[i+1:]
		}
	}
	return of
}

// simulated produces a line of every class the recordings have, as far as the simulator plays it.
func simulated(t *testing.T, partial bool) map[string]string {
	b := newBox(t)
	b.write("notes.txt", "alpha\nbeta\n")
	b.serveMCP("echo", ".cursor/mcp.json")
	script := `<<SCRIPT [{"think":"Look first."},{"text":"I'll look."},{"read":"notes.txt"},{"shell":"wc -l notes.txt"},
		{"shell":"false x"},{"write":"count.txt","content":"2\n"},{"edit":"notes.txt","old":"beta","new":"gamma"},
		{"glob":"*.txt"},{"grep":"alpha"},{"todo":["one"]},{"mcp":"echo","args":{"text":"x"}},{"text":"All done."}] SCRIPT>>`
	flags := []string{"-p", "--trust", "--output-format", "stream-json"}
	if partial {
		flags = append(flags, "--stream-partial-output")
	}
	free := b.run(append(flags, "--force", "--approve-mcps", script)...)
	bound := b.run(append(flags, `<<SCRIPT [{"shell":"echo no"}] SCRIPT>>`)...)
	if free.code != 0 || bound.code != 0 {
		t.Fatalf("exit %d, %d: %s%s", free.code, bound.code, free.stderr, bound.stderr)
	}
	return classes(t, free.stdout+bound.stdout)
}

func TestShapesMatchRecordings(t *testing.T) {
	dir := recordings(t)
	// Tools the simulator has no step for.
	unplayed := map[string]bool{
		"tool_call/completed webFetchToolCall success": true,
		"tool_call/completed taskToolCall success":     true,
	}
	for _, c := range []struct {
		file    string
		partial bool
		cut     bool
	}{
		{"2026.10.01-nopartial.jsonl", false, false},
		{"2026.10.01-partial-shell-rejected.jsonl", true, false},
		{"2026.09-tool-results.jsonl", false, true},
		{"2026.07.20-read-shell-edit.jsonl", false, true},
	} {
		t.Run(c.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, c.file))
			if err != nil {
				t.Fatal(err)
			}
			ours := simulated(t, c.partial)
			compared := 0
			for name, want := range classes(t, string(data)) {
				if unplayed[name] {
					continue
				}
				got := ours[name]
				if c.cut && strings.Contains(name, "shellToolCall") {
					want, got = cutArgs(want), cutArgs(got)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-recorded +simulated)\n%s", name, diff)
				}
				compared++
			}
			if compared < 4 {
				t.Errorf("only %d classes were compared", compared)
			}
		})
	}
}

func TestTextIsToldOnceByTheRule(t *testing.T) {
	b := newBox(t)
	script := `<<SCRIPT [{"text":"a - - b"},{"shell":"true"},{"text":"two "},{"text":"parts"},{"think":"hm"},
		{"text":"three"},{"ask":"why?"},{"text":"end"}] SCRIPT>>`
	for _, partial := range []bool{false, true} {
		args := []string{}
		if partial {
			args = append(args, "--stream-partial-output")
		}
		events := b.stream(script, args...)
		acc, all := "", ""
		for _, e := range events {
			switch {
			case e.Type == "tool_call":
				acc = ""
			case e.Type == "assistant" && partial && e.TimestampMs != nil && e.ModelCallID == "" && (e.text() != acc || acc == ""):
				acc += e.text()
				all += e.text()
			case e.Type == "assistant":
				if acc != "" && e.text() != acc {
					t.Errorf("flush %q after deltas %q", e.text(), acc)
				}
				if acc == "" {
					all += e.text()
				}
				acc = ""
			}
		}
		want := "a - - btwo partsthreeend"
		if got := finalText(t, events); got != want || all != want {
			t.Errorf("partial %t: result %q, put together %q, want %q", partial, got, all, want)
		}
	}
}

func TestFlushForms(t *testing.T) {
	steps := scripted(`{"text":"a"},{"shell":"true"},{"text":"b"},{"ask":"why?"},{"text":"c"}`)
	var got []string
	for _, e := range newBox(t).stream(steps) {
		if e.Type == "assistant" {
			got = append(got, fmt.Sprintf("%s call=%t time=%t", e.text(), e.ModelCallID != "", e.TimestampMs != nil))
		}
	}
	want := []string{"a call=true time=true", "b call=false time=true", "c call=false time=false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestModelCalls(t *testing.T) {
	events := newBox(t).stream(`<<SCRIPT [{"text":"x"},{"shell":"true"},{"shell":"true"},{"text":"end"}] SCRIPT>>`)
	request := ""
	for _, e := range events {
		if e.Type == "result" {
			list, _ := members(jsontext.Value(e.raw))
			request = getString(list, "request_id")
		}
	}
	var ids []string
	for _, e := range events {
		if e.ModelCallID != "" {
			id, ok := strings.CutPrefix(e.ModelCallID, request+"-")
			if step, tag, _ := strings.Cut(id, "-"); !ok || len(tag) != 4 {
				t.Errorf("model call id %q of request %q", e.ModelCallID, request)
			} else {
				ids = append(ids, e.Type+step)
			}
		}
		if e.Type == "tool_call" && !strings.Contains(e.CallID, "\nfc_") {
			t.Errorf("call id %q", e.CallID)
		}
	}
	want := []string{"assistant0", "tool_call0", "tool_call0", "tool_call1", "tool_call1"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
}
