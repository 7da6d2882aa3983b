package gemini

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/storedtest"
)

const storedText = `{"sessionId":"f86f5318-f47b-4433-85f8-ec9d9a417f8e","projectHash":"h","startTime":"2026-10-18T14:57:28.974Z","lastUpdated":"2026-10-18T14:58:07.161Z","messages":[
{"id":"1","timestamp":"2026-10-18T14:57:28.974Z","type":"user","content":"List the files"},
{"id":"2","timestamp":"2026-10-18T14:57:30.000Z","type":"gemini","content":"","thoughts":[{"subject":"Listing","description":"I look."}],"toolCalls":[
 {"id":"a","name":"list_directory","args":{"path":"/x"},"result":[{"functionResponse":{"id":"a","name":"list_directory","response":{"output":"a.txt"}}}],"status":"success"},
 {"id":"b","name":"run_shell_command","args":{"command":"rm a"},"result":[{"functionResponse":{"response":{"error":"refused"}}}],"status":"cancelled"}],
 "tokens":{"input":10,"output":2,"cached":4,"thoughts":1,"tool":0,"total":13},"model":"gem"},
{"id":"3","type":"info","content":"Request cancelled."},
{"id":"4","type":"user","content":[{"text":"and "},{"text":"now"}]}]}`

var (
	_ agentcli.Historian = (*Provider)(nil)
	_ agentcli.Importer  = (*Provider)(nil)
)

func TestHistory(t *testing.T) {
	home := t.TempDir()
	path := storedtest.Put(t, home, ".gemini/tmp/"+projectHash("/src/app")+"/chats/session-2026-10-18T14-57-f86f5318.json", storedText)
	storedtest.Put(t, home, ".gemini/tmp/app/.project_root", "/src/named\n")
	storedtest.Put(t, home, ".gemini/tmp/app/chats/session-x.json", strings.ReplaceAll(storedText, "f86f5318", "aaaaaaaa"))
	o := agentcli.HistoryOptions{Home: home, Candidates: []string{"/src/app"}}
	s, got, err := storedtest.Load(t, History{}, o, "f86f")
	want := []string{
		`user [text "List the files"]`,
		`assistant gem 6/3/4 [thinking "Listing: I look."] [tool Ls(/x) read completed out="a.txt"] [tool Bash(rm a) execute rejected out="" err="refused"]`,
		`system context [text "Request cancelled."]`,
		`user [text "and now"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if s.Dir != "/src/app" || s.Path != path || s.Model != "gem" || s.Title != "List the files" || s.Messages != 4 {
		t.Errorf("%+v", s)
	}
	list, err := History{}.Sessions(t.Context(), o)
	if err != nil || len(list) != 2 || list[0].Dir+list[1].Dir != "/src/named/src/app" {
		t.Errorf("%+v %v", list, err)
	}
	if list, err := (History{}).Sessions(t.Context(), agentcli.HistoryOptions{Home: home, Dir: "/src/named"}); err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
	files, err := History{}.Import(t.Context(), s, "/w")
	if err != nil || len(files) != 1 || !strings.HasPrefix(files[0].Path, ".gemini/tmp/"+projectHash("/w")+"/chats/session-") {
		t.Errorf("%+v %v", files, err)
	}
}

func TestHistoryErrors(t *testing.T) {
	home := t.TempDir()
	o := agentcli.HistoryOptions{Home: home}
	if _, _, err := storedtest.Load(t, History{}, o, "f86f"); substrat.CodeOf(err) != substrat.CodeNotFound {
		t.Errorf("no session: %v", err)
	}
	for name, text := range map[string]string{"torn": storedText[:200], "foreign": `{"a":1}`} {
		path := storedtest.Put(t, home, ".gemini/tmp/x/chats/session-1.json", text)
		if _, _, err := storedtest.Load(t, History{}, o, path); substrat.CodeOf(err) != substrat.CodeInvalid || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := (History{}).Sessions(t.Context(), o); err != nil || len(list) != 1 || list[0].Problem == "" {
			t.Errorf("%s: %+v %v", name, list, err)
		}
	}
}
