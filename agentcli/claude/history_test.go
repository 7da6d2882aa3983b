package claude

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/storedtest"
)

const storedID = "0b6c3a52-1111-4222-8333-444455556666"

// A session with a question that somebody took back, two calls at once, a subagent, and a last line that is being written.
const storedLines = `{"type":"file-history-snapshot","messageId":"x","snapshot":{}}
{"type":"user","uuid":"u0","parentUuid":null,"isMeta":true,"cwd":"/src/my.app","sessionId":"s","timestamp":"2026-09-01T10:00:00.000Z","message":{"role":"user","content":"<local-command-caveat>x</local-command-caveat>"}}
{"type":"user","uuid":"u1","parentUuid":"u0","cwd":"/src/my.app","permissionMode":"acceptEdits","timestamp":"2026-09-01T10:00:01.000Z","message":{"role":"user","content":"look at it"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-09-01T10:00:02.000Z","message":{"id":"m1","model":"opus","content":[{"type":"thinking","thinking":"hm","signature":"z"}],"usage":{"input_tokens":5,"output_tokens":1,"cache_read_input_tokens":7}}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","timestamp":"2026-09-01T10:00:02.000Z","message":{"id":"m1","model":"opus","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls","description":"List"}}],"usage":{"input_tokens":5,"output_tokens":9,"cache_read_input_tokens":7}}}
{"type":"assistant","uuid":"a3","parentUuid":"a2","timestamp":"2026-09-01T10:00:02.000Z","message":{"id":"m1","model":"opus","content":[{"type":"tool_use","id":"t2","name":"mcp__files__put","input":{}}]}}
{"type":"user","uuid":"r1","parentUuid":"a2","timestamp":"2026-09-01T10:00:03.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a\nb"}]},"toolUseResult":{"stdout":"a\nb"}}
{"type":"user","uuid":"side","parentUuid":null,"isSidechain":true,"message":{"role":"user","content":"for a subagent"}}
{"type":"user","uuid":"r2","parentUuid":"a3","timestamp":"2026-09-01T10:00:03.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"The user doesn't want to proceed with this tool use."}]}]}}
{"type":"assistant","uuid":"a4","parentUuid":"r2","message":{"id":"m2","model":"opus","content":[{"type":"text","text":"left behind"}]}}
not json at all
{"type":"user","uuid":"u2","parentUuid":"r2","message":{"role":"user","content":[{"type":"text","text":"again"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}}]}}
{"type":"assistant","uuid":"a5","parentUuid":"u2","message":{"id":"m3","model":"opus","content":[{"type":"tool_use","id":"t3","name":"Edit","input":{"file_path":"/x.go"}}]}}
{"type":"user","uuid":"r3","parentUuid":"a5","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":"ok"}]},"toolUseResult":{"structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}]}}
{"type":"summary","summary":"Looking at it","leafUuid":"a5"}
{"type":"assistant","uuid":"a6","parentUuid":"r3","message":{"id":"m4","model":"opus","content":[{"type":"text","text":"done"}]}}
{"type":"assistant","uuid":"a7","parentU`

var (
	_ agentcli.Historian = (*Provider)(nil)
	_ agentcli.Importer  = (*Provider)(nil)
)

func TestHistory(t *testing.T) {
	home := t.TempDir()
	path := storedtest.Put(t, home, ".claude/projects/-src-my-app/"+storedID+".jsonl", storedLines)
	storedtest.Put(t, home, ".claude/projects/-src-my-app/agent-12345678.jsonl", storedLines)
	o := agentcli.HistoryOptions{Home: home}
	s, got, err := storedtest.Load(t, History{}, o, storedID[:8])
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`user context [text "<local-command-caveat>x</local-command-caveat>"]`,
		`user [text "look at it"]`,
		`assistant opus 5/9/7 [thinking "hm"] [tool Bash(ls) execute completed out="a\nb"] [tool MCP(put) other rejected out="The user doesn't want to proceed with this tool use." err="The user doesn't want to proceed with this tool use." server=files]`,
		`user [text "again"] [image image/png 5 bytes]`,
		`assistant opus [tool Edit(/x.go) edit completed out="ok" diff="@@ -1,1 +1,1 @@\n-a\n+b\n"]`,
		`assistant opus [text "done"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.ID != storedID || s.Dir != "/src/my.app" || s.Title != "Looking at it" || s.Model != "opus" || s.Mode != "acceptEdits" || s.Messages != len(want) ||
		s.Problem != "1 of its lines cannot be read, the first is line 11" || s.CreatedAt.IsZero() {
		t.Errorf("%+v", s)
	}
	list, err := History{}.Sessions(t.Context(), o)
	if err != nil || len(list) != 1 || list[0].Path != path || list[0].Dir != "/src/my.app" || list[0].Title != "Looking at it" {
		t.Errorf("%+v %v", list, err)
	}
	if list, err := (History{}).Sessions(t.Context(), agentcli.HistoryOptions{Home: home, Dir: "/src/other"}); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if list, err := (History{}).Sessions(t.Context(), agentcli.HistoryOptions{Home: home, Dir: "/src/my.app"}); err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
	files, err := History{}.Import(t.Context(), s, "/home/x/w")
	if err != nil || len(files) != 1 || files[0].Path != ".claude/projects/-home-x-w/"+storedID+".jsonl" || !strings.HasSuffix(string(files[0].Data), "\"done\"}]}}\n") {
		t.Errorf("%+v %v", files, err)
	}
}

func TestHistoryErrors(t *testing.T) {
	home := t.TempDir()
	o := agentcli.HistoryOptions{Home: home}
	if _, _, err := storedtest.Load(t, History{}, o, storedID); substrat.CodeOf(err) != substrat.CodeNotFound {
		t.Errorf("no session: %v", err)
	}
	foreign := storedtest.Put(t, home, ".claude/projects/-x/"+storedID+".jsonl", "{\"some\":\"thing\"}\nelse\n")
	if _, _, err := storedtest.Load(t, History{}, o, storedID); substrat.CodeOf(err) != substrat.CodeInvalid || !strings.Contains(err.Error(), foreign) {
		t.Errorf("a foreign file: %v", err)
	}
	if list, err := (History{}).Sessions(t.Context(), o); err != nil || len(list) != 1 || list[0].Problem == "" {
		t.Errorf("%+v %v", list, err)
	}
	storedtest.Put(t, home, ".claude/projects/-x/"+storedID[:7]+"f.jsonl", storedLines)
	if _, _, err := storedtest.Load(t, History{}, o, storedID[:5]); substrat.CodeOf(err) != substrat.CodeAmbiguous {
		t.Errorf("two that fit: %v", err)
	}
	if _, _, err := storedtest.Load(t, History{}, o, filepath.Join(home, "none.jsonl")); substrat.CodeOf(err) != substrat.CodeNotFound {
		t.Errorf("a path of nothing: %v", err)
	}
	moved := agentcli.HistoryOptions{Home: t.TempDir(), Getenv: func(string) string { return filepath.Join(home, ".claude") }}
	if list, err := (History{}).Sessions(t.Context(), moved); err != nil || len(list) != 2 {
		t.Errorf("CLAUDE_CONFIG_DIR: %+v %v", list, err)
	}
}

func FuzzHistory(f *testing.F) {
	f.Add(storedLines)
	f.Add(`{"type":"user","uuid":"a","parentUuid":"a","message":{"content":"x"}}`)
	f.Add(`{"type":"user","uuid":"a","parentUuid":"b","message":{"content":"x"}}` + "\n" + `{"type":"assistant","uuid":"b","parentUuid":"a","message":{"content":[{"type":"tool_use","id":"a","input":1}]}}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := storedtest.Put(t, dir, "x.jsonl", text)
		_, list, err := storedtest.Load(t, History{}, agentcli.HistoryOptions{}, path)
		if len(list) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d messages of %q: %v", len(list), text, err)
		}
	})
}
