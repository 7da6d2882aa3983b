package sim

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestParsePrompt(t *testing.T) {
	for _, c := range []struct {
		name, prompt, plain string
		kinds               string // of all steps; "!" for a script that does not parse
	}{
		{"none", "just talk", "just talk", ""},
		{"one", `a <<SCRIPT [{"text":"x"}] SCRIPT>> b`, "a  b", "text"},
		{"tight", `<<SCRIPT[{"ls":"."}]SCRIPT>>`, "", "ls"},
		{"several", `<<SCRIPT [{"text":"x"}] SCRIPT>><<SCRIPT [{"think":"y"},{"frob":1}] SCRIPT>>`, "", "text think ?"},
		{"nested", `<<SCRIPT [{"mcp":"send","args":{"text":"do <<SCRIPT [{\"text\":\"<<SCRIPT [] SCRIPT>>\"}] SCRIPT>>"}},{"text":"z"}] SCRIPT>> tail`, "tail", "mcp text"},
		{"precedence", `<<SCRIPT [{"text":"x","path":"p","grep":"g"}] SCRIPT>>`, "", "grep"},
		{"empty", `<<SCRIPT [] SCRIPT>>`, "", ""},
		{"broken", `<<SCRIPT [{"text":] SCRIPT>> <<SCRIPT [{"text":"ok"}] SCRIPT>>`, "", "! text"},
		{"no list", `<<SCRIPT {"text":"x"} SCRIPT>>`, "", "!"},
		{"no object", `<<SCRIPT ["text"] SCRIPT>>`, "", "!"},
		{"two lists", `<<SCRIPT [] [] SCRIPT>>`, "", "!"},
		{"unclosed", `x <<SCRIPT [{"text":"a <<SCRIPT [] SCRIPT>>"}]`, "x", "!"},
		{"only an end", `x SCRIPT>> y`, "x SCRIPT>> y", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain, scripts := parsePrompt(c.prompt)
			var kinds []string
			for _, s := range scripts {
				if s.err != nil {
					kinds = append(kinds, "!")
				}
				for _, st := range s.steps {
					if st.kind == "" {
						st.kind = "?"
					}
					kinds = append(kinds, st.kind)
				}
			}
			if got := strings.Join(kinds, " "); plain != c.plain || got != c.kinds {
				t.Errorf("plain %q, steps %q", plain, got)
			}
		})
	}
}

func FuzzParsePrompt(f *testing.F) {
	f.Add(`a <<SCRIPT [{"text":"x","delay_ms":5}] SCRIPT>> b`)
	f.Add(`<<SCRIPT [{"mcp":"m","args":{"text":"<<SCRIPT [] SCRIPT>> {{last.a.b}} {{x"}}] SCRIPT>>`)
	f.Add("<<SCRIPT>> SCRIPT>> <<SCRIPT [")
	f.Add("<<SCRIPT [{\"text\":\"\xff\"},{\"sleep_ms\":1e99},{\"a\":{},\"a\":1}] SCRIPT>>")
	f.Fuzz(func(t *testing.T, prompt string) {
		m := &memory{prompt: prompt, messageID: messageID(prompt), last: prompt, lastJSON: jsontext.Value(`{"a":{"b":"{{last}}"}}`)}
		plain, scripts := parsePrompt(prompt)
		if len(plain) > len(prompt) || len(scripts) == 0 && plain != strings.TrimSpace(prompt) {
			t.Errorf("plain %q", plain)
		}
		for _, s := range scripts {
			for _, st := range s.steps {
				same, err := st.expand(func(text string) string { return text })
				if err != nil || same.kind != st.kind || len(same.members) != len(st.members) {
					t.Errorf("%v: %v became %v", err, st, same)
				}
				if _, err := st.expand(m.expand); err != nil {
					t.Error(err)
				}
				if d := st.millis("delay_ms"); d < 0 || d > maxWait {
					t.Errorf("delay %v", d)
				}
			}
		}
		if got := strings.Join(pieces(prompt, 4), ""); got != prompt {
			t.Errorf("pieces give %q", got)
		}
	})
}

func TestExpand(t *testing.T) {
	m := &memory{prompt: "P", messageID: "m7", last: "{{prompt}}", lastJSON: jsontext.Value(`{"id":"x1","n":3,"deep":{"k":[1]}}`)}
	for in, want := range map[string]string{
		"plain":                        "plain",
		"{{last}}":                     "{{prompt}}",
		"{{prompt}}/{{message_id}}":    "P/m7",
		"{{ last.id }} {{last.n}}":     "x1 3",
		"{{last.deep.k}}|{{last.no}}|": "[1]||",
		"{{other}} {{{{last.id}}":      "{{other}} {{x1",
		"{{open":                       "{{open",
		"{{last.n}} <<SCRIPT [{{last.n}} <<SCRIPT x SCRIPT>>] SCRIPT>> {{last.n}}": "3 <<SCRIPT [{{last.n}} <<SCRIPT x SCRIPT>>] SCRIPT>> 3",
		"<<SCRIPT {{last.n}}": "<<SCRIPT {{last.n}}",
	} {
		if got := m.expand(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestMessageID(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "",
		"Reply from bob (to message m-1): hi":    "m-1",
		"[message m2] from eve":                  "m2",
		"[message m3 from eve, sync]":            "m3",
		"[message m4]\n(to message m5)":          "m5",
		"(to message \n) [message m6]":           "m6",
		"a message (to message without its end ": "",
	} {
		if got := messageID(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestMapStringsIsJSONStringify(t *testing.T) {
	raw := "{ \"b\\u0062\" : [ \"\\u00e9<&>\\/\", 1.50, null , true ], \"a\":\"\\u2028\\t\\u001f\" }"
	got, err := mapStrings(jsontext.Value(raw), nil)
	want := "{\"bb\":[\"é<&>/\",1.50,null,true],\"a\":\"\u2028\\t\\u001f\"}"
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	upper, err := mapStrings(jsontext.Value(raw), func(string) string { return "X" })
	if diff := cmp.Diff(`{"bb":["X",1.50,null,true],"a":"X"}`, string(upper)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestBadScriptIsAnAnswer(t *testing.T) {
	events := newBox(t).stream(`<<SCRIPT [{"text":] SCRIPT>>`)
	if got := finalText(t, events); !strings.HasPrefix(got, "I cannot follow script 1 of the prompt: ") {
		t.Errorf("answer %q", got)
	}
}
