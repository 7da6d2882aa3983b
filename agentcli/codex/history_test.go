package codex

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/storedtest"
)

const (
	storedID   = "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5"
	storedPath = ".codex/sessions/2026/10/29/rollout-2026-10-29T00-59-38-" + storedID + ".jsonl"
)

// A session of a newer build: what was said is there as an item and as an event, except the last answer, whose item is missing.
const storedLines = `{"timestamp":"2026-10-29T00:59:38.317Z","type":"session_meta","payload":{"id":"019a2d7a-41c4-78b1-b7cc-a45d62a89cd5","cwd":"/src/app","cli_version":"0.46.0"}}
{"timestamp":"2026-10-29T00:59:38.317Z","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions instructions>"}]}}
{"timestamp":"2026-10-29T00:59:38.317Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n</environment_context>"}]}}
{"timestamp":"2026-10-29T00:59:38.317Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"what is 2+2?"}]}}
{"timestamp":"2026-10-29T00:59:38.317Z","type":"event_msg","payload":{"type":"user_message","message":"what is 2+2?","kind":"plain"}}
{"timestamp":"2026-10-29T00:59:38.317Z","type":"turn_context","payload":{"cwd":"/src/app","approval_policy":"never","model":"gpt-x"}}
{"timestamp":"2026-10-29T00:59:39.522Z","type":"event_msg","payload":{"type":"agent_reasoning","text":"**Thinking**"}}
{"timestamp":"2026-10-29T00:59:39.522Z","type":"response_item","payload":{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"**Thinking**"}],"encrypted_content":"zz"}}
{"timestamp":"2026-10-29T00:59:39.600Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"bc\"]}","call_id":"c1"}}
{"timestamp":"2026-10-29T00:59:39.600Z","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch","call_id":"c2"}}
{"timestamp":"2026-10-29T00:59:39.600Z","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":3}}}}
{"timestamp":"2026-10-29T00:59:39.700Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"no bc\\n\",\"metadata\":{\"exit_code\":127,\"duration_seconds\":0.1}}"}}
{"timestamp":"2026-10-29T00:59:39.700Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c2","output":"{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}"}}
{"timestamp":"2026-10-29T00:59:39.800Z","type":"event_msg","payload":{"type":"agent_message","message":"4"}}
{"timestamp":"2026-10-29T00:59:39.800Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"4"}]}}
{"timestamp":"2026-10-29T00:59:40.000Z","type":"compacted","payload":{"message":"We added."}}
{"timestamp":"2026-10-29T00:59:41.000Z","type":"event_msg","payload":{"type":"agent_message","message":"only shown"}}
{"timestamp":"2026-10-29T00:59:42.000Z","type":"respo`

var (
	_ agentcli.Historian = (*Provider)(nil)
	_ agentcli.Importer  = (*Provider)(nil)
)

func TestHistory(t *testing.T) {
	home := t.TempDir()
	path := storedtest.Put(t, home, storedPath, storedLines)
	o := agentcli.HistoryOptions{Home: home}
	s, got, err := storedtest.Load(t, History{}, o, storedID)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`system context [text "<permissions instructions>"]`,
		`user context [text "<environment_context>\n</environment_context>"]`,
		`user [text "what is 2+2?"]`,
		`assistant gpt-x 6/3/4 [thinking "**Thinking**"] [tool Bash(bc) execute failed out="no bc\n" err="exit code 127"] [tool Write(a.txt) edit completed out="Success"]`,
		`assistant gpt-x [text "4"]`,
		`user context [text "We added."]`,
		`assistant gpt-x [text "only shown"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.ID != storedID || s.Dir != "/src/app" || s.Title != "what is 2+2?" || s.Model != "gpt-x" || s.Mode != "never" || s.Problem != "" || s.Messages != len(want) {
		t.Errorf("%+v", s)
	}
	list, err := History{}.Sessions(t.Context(), o)
	if err != nil || len(list) != 1 || list[0].Path != path || list[0].Dir != "/src/app" || list[0].Title != "what is 2+2?" {
		t.Errorf("%+v %v", list, err)
	}
	if list, err := (History{}).Sessions(t.Context(), agentcli.HistoryOptions{Home: home, Dir: "/src"}); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	files, err := History{}.Import(t.Context(), s, "/anywhere")
	if err != nil || len(files) != 1 || files[0].Path != storedPath || !strings.HasSuffix(string(files[0].Data), "\"only shown\"}}\n") {
		t.Errorf("%+v %v", files, err)
	}
}

// TestHistoryOld reads the format before lines were wrapped.
func TestHistoryOld(t *testing.T) {
	home := t.TempDir()
	storedtest.Put(t, home, storedPath, `{"id":"`+storedID+`","timestamp":"2025-08-01T00:00:00Z","instructions":null,"git":{}}
{"record_type":"state"}
{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"hello"},{"type":"input_image","image_url":"data:image/png;base64,aGVsbG8="}]}
{"type":"function_call","id":"x","name":"shell","arguments":"{\"command\":[\"ls\",\"-l\"]}","call_id":"c"}
{"type":"function_call_output","call_id":"c","output":"Exit code: 0\nWall time: 1 seconds\nOutput:\ntotal 0"}
{"type":"function_call_output","call_id":"lost","output":"x"}
{"type":"message","id":null,"role":"assistant","content":[{"type":"output_text","text":"hi"}]}
`)
	s, got, err := storedtest.Load(t, History{}, agentcli.HistoryOptions{Home: home}, storedID)
	want := []string{
		`user [text "hello"] [image image/png 5 bytes]`,
		`assistant [tool Bash(ls -l) execute completed out="total 0"]`,
		`tool [tool () other completed out="x"]`,
		`assistant [text "hi"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if s.Title != "hello" || s.CreatedAt.Year() != 2025 {
		t.Errorf("%+v", s)
	}
}

func TestHistoryErrors(t *testing.T) {
	home := t.TempDir()
	o := agentcli.HistoryOptions{Home: home}
	if _, _, err := storedtest.Load(t, History{}, o, storedID); substrat.CodeOf(err) != substrat.CodeNotFound {
		t.Errorf("no session: %v", err)
	}
	if list, err := (History{}).Sessions(t.Context(), o); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	foreign := storedtest.Put(t, home, storedPath, "{\"some\":\"thing\"}\nelse\n")
	if _, _, err := storedtest.Load(t, History{}, o, storedID); substrat.CodeOf(err) != substrat.CodeInvalid || !strings.Contains(err.Error(), foreign) {
		t.Errorf("a foreign file: %v", err)
	}
}

func FuzzHistory(f *testing.F) {
	f.Add(storedLines)
	f.Add(`{"type":"function_call","call_id":"c","name":"apply_patch","arguments":"*** Add File: x"}` + "\n" + `{"type":"function_call_output","call_id":"c","output":{"content":[]}}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := storedtest.Put(t, dir, "x.jsonl", text)
		_, list, err := storedtest.Load(t, History{}, agentcli.HistoryOptions{}, path)
		if len(list) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d messages of %q: %v", len(list), text, err)
		}
	})
}
