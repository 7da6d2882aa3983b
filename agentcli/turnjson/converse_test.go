package turnjson_test

import (
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/turnjson"
)

const (
	doneLine = `{"type":"done","data":{"finishReason":"stop"}}`
	said     = `{"type":"assistant_delta","data":{"content":"hi"}}`
)

func deltaLine(s string) string {
	return `{"type":"assistant_delta","data":{"content":"` + s + `"}}`
}

func whole(s string) string {
	return `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"` + s + `"}]}}`
}

func piece(s string) string {
	return `{"type":"assistant","timestamp_ms":1,"message":{"content":[{"type":"text","text":"` + s + `"}]}}`
}

func flush(s string) string {
	return `{"type":"assistant","timestamp_ms":1,"model_call_id":"m","message":{"content":[{"type":"text","text":"` + s + `"}]}}`
}

// strict are the streams of a CLI that reads its turn from stdin, tolerant those of one that takes its prompt as argument,
// both what they mean in both styles.
var streams = []struct {
	name  string
	lines []string
	// want is for both styles, arg for the prompt as argument where it differs.
	want, arg string
}{
	{"deltas", []string{deltaLine("a"), deltaLine("a"), deltaLine(" b"), doneLine}, `"a" "a" " b" / completed`, ""},
	{"blank lines", []string{"", said, "  ", doneLine}, `"hi" / completed`, ""},
	{"exit without done", []string{said}, `"hi" /`, ""},
	{"handshake", []string{`{"type":"protocol","data":{"version":"1.0"}}`, said, doneLine}, `notice "hi" / completed`, ""},
	{"handshake at the top", []string{`{"type":"protocol","version":"1.0"}`, said, doneLine}, `notice "hi" / completed`, ""},
	{"handshake without version", []string{`{"type":"protocol","data":{}}`, said, doneLine}, `notice "hi" / completed`, ""},
	{"another version", []string{`{"type":"protocol","data":{"version":"99.0"}}`, said, doneLine}, `failed protocol`, ""},
	{"version of another kind", []string{`{"type":"protocol","data":{"version":1}}`}, `failed protocol`, ""},
	{"annotations", []string{`{"type":"system","subtype":"x"}`, `{"type":"user","message":{"content":"q"}}`, `{"type":"interaction_query"}`, said, doneLine}, `notice user notice "hi" / completed`, ""},
	{"session", []string{`{"type":"system","subtype":"init","session_id":"s1","model":"m"}`, said, doneLine}, `session(s1) "hi" / completed`, ""},
	{"thinking of the contract", []string{`{"type":"thinking","data":{"content":"hm"}}`, said, doneLine}, `think(hm) think/ "hi" / completed`, ""},
	{"thinking of the CLI", []string{`{"type":"thinking","subtype":"delta","text":"hm"}`, `{"type":"thinking","subtype":"completed"}`, said, doneLine}, `think(hm) think/ "hi" / completed`, ""},
	{"usage", []string{said, `{"type":"usage","data":{"promptTokens":1,"completionTokens":2}}`, doneLine}, `"hi" usage(1 2) / completed`, ""},
	{"usage that is none", []string{`{"type":"usage","data":{"promptTokens":"1"}}`, doneLine}, `failed protocol`, `notice completed`},
	{"usage below zero", []string{`{"type":"usage","data":{"promptTokens":-1,"completionTokens":2}}`, doneLine}, `failed protocol`, `notice completed`},
	{"delta without content", []string{`{"type":"assistant_delta","data":{"text":"x"}}`, doneLine}, `failed protocol`, `notice completed`},
	{"delta with a number", []string{`{"type":"assistant_delta","data":{"content":1}}`, doneLine}, `failed protocol`, `notice completed`},
	{"unknown type", []string{said, `{"type":"surprise"}`, doneLine}, `"hi" / failed protocol`, `"hi" notice / completed`},
	{"connection", []string{said, `{"type":"connection","subtype":"reconnecting"}`, doneLine}, `"hi" / failed protocol`, `"hi" retry / completed`},
	{"noise", []string{"warming up", said, doneLine}, `failed protocol`, `notice "hi" / completed`},
	{"no type", []string{`{"data":{}}`, said, doneLine}, `failed protocol`, `notice "hi" / completed`},
	{"an array", []string{`[1]`, doneLine}, `failed protocol`, `notice completed`},
	{"cut JSON", []string{said, `{"type":"assistant_del`}, `"hi" / failed protocol`, `"hi" notice /`},
	{"overlong line", []string{strings.Repeat("x", 70000), said, doneLine}, `failed protocol`, `notice "hi" / completed`},
	{"sentinels", []string{"__JSON_START__", `{"type":"assistant_delta",`, ` "data":{"content":"hi"}}`, "__JSON_END__", " __JSON_START__ ", doneLine, "__JSON_END__\r"}, `"hi" / completed`, ""},
	{"sentinels and lines", []string{said, "__JSON_START__", doneLine, "__JSON_END__"}, `"hi" / completed`, ""},
	{"start in a block", []string{"__JSON_START__", "__JSON_START__", doneLine, "__JSON_END__"}, `failed protocol`, ""},
	{"end without start", []string{said, "__JSON_END__", doneLine}, `"hi" / failed protocol`, ""},
	{"block without end", []string{said, "__JSON_START__", doneLine}, `"hi" / failed protocol`, ""},
	{"empty block", []string{"__JSON_START__", "__JSON_END__", doneLine}, `failed protocol`, `notice completed`},
	{"error", []string{said, `{"type":"error","data":{"code":"MODEL_AUTH_ERROR","message":"token expired"}}`, doneLine}, `"hi" / failed auth`, ""},
	{"error without words", []string{`{"type":"error","data":{}}`, doneLine}, `failed protocol`, `notice completed`},
	{"done without data", []string{said, `{"type":"done"}`}, `"hi" / completed`, ""},
	{"done with an error", []string{said, `{"type":"done","data":{"finishReason":"error"}}`}, `"hi" / failed agent_error`, ""},
	{"done by cancel", []string{`{"type":"done","data":{"finishReason":"cancelled"}}`}, `cancelled cancelled`, ""},
	{"done with a number", []string{`{"type":"done","data":{"finishReason":7}}`}, `failed protocol`, `notice`},
	{"after done", []string{said, doneLine, "garbage"}, `"hi" / completed`, ""},
	{"result", []string{said, `{"type":"result","subtype":"success","is_error":false,"result":"hi","usage":{"inputTokens":3,"outputTokens":4}}`}, `"hi" usage(3 4) / completed`, ""},
	{"result with an error", []string{said, `{"type":"result","subtype":"error","is_error":true,"result":"You've hit your usage limit"}`}, `"hi" / failed quota`, ""},
	{"result of another subtype", []string{`{"type":"result","subtype":"error_max_turns"}`}, `failed agent_error`, ""},
	{"result alone has the text", []string{`{"type":"result","subtype":"success","result":"hello"}`}, `"hello" / completed`, ""},
	{"result has more", []string{said, `{"type":"result","result":"hi there"}`}, `"hi" " there" / completed`, ""},
	{"result differs", []string{said, `{"type":"result","result":"bye"}`}, `"hi" notice / completed`, ""},
	{"message", []string{whole("foo"), doneLine}, `"foo" / completed`, ""},
	{"parts without separators", []string{`{"type":"assistant","message":{"content":[{"type":"text","text":"foo"},{"type":"image"},{"type":"text","text":"bar()"}]}}`, doneLine}, `"foobar()" / completed`, ""},
	{"message without content", []string{`{"type":"assistant","message":{}}`, doneLine}, `failed protocol`, `notice completed`},
	{"message repeats deltas", []string{deltaLine("to"), deltaLine("tal 1000"), whole("total 1000"), doneLine}, `"to" "tal 1000" / completed`, ""},
	{"message has more than deltas", []string{deltaLine("ha"), whole("haha"), doneLine}, `"ha" "ha" / completed`, ""},
	{"message beside deltas", []string{deltaLine("ab"), whole("xy"), doneLine}, `"ab" "xy" / completed`, ""},
	{"same message twice is twice", []string{whole("ok"), whole("ok"), doneLine}, `"ok" / "ok" / completed`, ""},
	{"message that begins like the one before", []string{whole("ok"), whole("ok, done"), doneLine}, `"ok" / "ok, done" / completed`, ""},
	{"official pieces and flushes", []string{piece("a"), piece("b"), flush("ab"), piece("c"), whole("c"), doneLine}, `"a" "b" / "c" / completed`, ""},
	{"official flush that looks like a piece", []string{piece("a"), piece("b"), piece("ab"), `{"type":"interaction_query"}`, piece("c"), doneLine}, `"a" "b" / notice "c" / completed`, ""},
	{"repeated token", []string{piece("ha"), piece("ha"), piece("!"), whole("haha!"), doneLine}, `"ha" "ha" "!" / completed`, ""},
	{"one piece flushed before a query", []string{piece("ha"), piece("ha"), `{"type":"interaction_query"}`, doneLine}, `"ha" notice / completed`, ""},
	{"one piece flushed at the end", []string{piece("ha"), piece("ha"), `{"type":"result","result":"ha"}`}, `"ha" / completed`, ""},
	{"one piece twice at the end", []string{piece("ha"), piece("ha"), `{"type":"result","result":"haha"}`}, `"ha" "ha" / completed`, ""},
}

func TestStreams(t *testing.T) {
	for _, s := range streams {
		for style, arg := range map[string]bool{"stdin": false, "argument": true} {
			t.Run(s.name+" by "+style, func(t *testing.T) {
				want := s.want
				if arg && s.arg != "" {
					want = s.arg
				}
				got, _ := decode(t, turnjson.New(turnjson.Options{Command: "x", PromptAsArg: arg}), agentcli.Request{Prompt: "q"}, printing(s.lines...))
				if got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			})
		}
	}
}

// TestMessageAfterToolCall: a message that comes behind the call it stood before repeats its own segment only.
func TestMessageAfterToolCall(t *testing.T) {
	call := `{"type":"tool_call","subtype":"started","call_id":"1","tool_call":{"shellToolCall":{"args":{"command":"ls"}}}}`
	p := turnjson.New(turnjson.Options{Command: "x"})
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{deltaLine("A"), call, deltaLine("B"), whole("A"), whole("B"), doneLine}, `"A" / call(1 Bash {"command":"ls"}) "B" / completed`},
		{[]string{deltaLine("A"), call, whole("A"), deltaLine("B"), doneLine}, `"A" / call(1 Bash {"command":"ls"}) / "B" / completed`},
		{[]string{deltaLine("A"), call, deltaLine("B"), whole("AB"), doneLine}, `"A" / call(1 Bash {"command":"ls"}) "B" / completed`},
		{[]string{whole("A"), call, whole("A"), doneLine}, `"A" / call(1 Bash {"command":"ls"}) "A" / completed`},
	} {
		got, _ := decode(t, p, agentcli.Request{Prompt: "q"}, printing(c.lines...))
		// An end of a segment more or less is of no matter.
		strip := func(s string) string { return strings.ReplaceAll(s, "/ ", "") }
		if strip(got) != strip(c.want) {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestForeignTools(t *testing.T) {
	p := turnjson.New(turnjson.Options{Command: "x", PromptAsArg: true})
	for _, c := range []struct{ result, want string }{
		{`"success":{"stdout":"out","exitCode":0}`, "end(1 completed out)"},
		{`"failure":{"stdout":"","stderr":"bad","exitCode":2}`, "end(1 failed bad)"},
		{`"rejected":{"reason":"no"}`, "end(1 rejected no)"},
		{`"timeout":{}`, "end(1 timeout the agent says: timeout)"},
		{`"novelty":{}`, "end(1 failed the agent says: novelty)"},
	} {
		got, r := decode(t, p, agentcli.Request{Prompt: "q", Tools: &tools{}}, printing(
			`{"type":"tool_call","subtype":"started","call_id":"1","tool_call":{"startedAtMs":"1","shellToolCall":{"args":{"command":"ls"}}}}`,
			`{"type":"tool_call","subtype":"completed","call_id":"1","tool_call":{"shellToolCall":{"args":{"command":"ls"},"result":{`+c.result+`}}}}`,
			doneLine))
		if want := `call(1 Bash {"command":"ls"}) ` + c.want + ` completed`; got != want || r.ToolCalls != 1 {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestFailuresHaveClasses(t *testing.T) {
	p := turnjson.New(turnjson.Options{Command: "x"})
	for code, want := range map[string]substrat.FailureClass{
		"MODEL_AUTH_ERROR": substrat.ClassAuth, "QUOTA_EXCEEDED": substrat.ClassQuota, "RATE_LIMITED": substrat.ClassRateLimit, "resource_exhausted": substrat.ClassRateLimit,
		"TRANSPORT_ERROR": substrat.ClassNetwork, "ECONNRESET": substrat.ClassNetwork, "TURN_TIMEOUT": substrat.ClassTimeout, "MODEL_NOT_FOUND": substrat.ClassModel, "SOMETHING": substrat.ClassAgent,
		"PROTO_VERSION_UNSUPPORTED": substrat.ClassProtocol, "SESSION_NOT_FOUND": substrat.ClassSession, "HTTP_429": substrat.ClassRateLimit,
	} {
		_, r := decode(t, p, agentcli.Request{Prompt: "q"}, printing(`{"type":"error","data":{"code":"`+code+`","message":"x"}}`))
		if r.Class != want || !strings.Contains(r.Detail, code) {
			t.Errorf("%s: class %s, detail %q", code, r.Class, r.Detail)
		}
	}
	for message, want := range map[string]int64{"retry after 7 seconds": 7000, "try again in 2m": 120000, "Retry-After: 30": 30000, "retry in 250ms": 250, "never": 0} {
		_, r := decode(t, p, agentcli.Request{Prompt: "q"}, printing(`{"type":"error","data":{"code":"RATE_LIMIT","message":"`+message+`"}}`))
		if r.RetryAfterMS != want {
			t.Errorf("%s: %d ms", message, r.RetryAfterMS)
		}
	}
	_, r := decode(t, p, agentcli.Request{Prompt: "q"}, printing(`{"type":"error","data":{"code":"X","message":"bad CURSOR_API_KEY=key_0123456789abcdef0123"}}`))
	if strings.Contains(r.Detail, "0123456789") {
		t.Errorf("the detail has the key: %s", r.Detail)
	}
}
