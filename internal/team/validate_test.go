package team

import (
	"encoding/json"
	"strings"
	"testing"

	"substrat.dev/substrat"
)

// TestDamagedSnapshots: what does not hold together is refused when it is read, not found out later.
func TestDamagedSnapshots(t *testing.T) {
	type damage struct {
		do  func(s *State)
		why string
	}
	for name, d := range map[string]damage{
		"no root":                  {func(s *State) { delete(s.Agents, "lead") }, "no root"},
		"root of another team":     {func(s *State) { s.Team = "other" }, "no root"},
		"root with a parent":       {func(s *State) { s.Agents["lead"].Parent = "coder" }, "its root has a parent"},
		"negative number":          {func(s *State) { s.Seq = -1 }, "no root"},
		"agent null":               {func(s *State) { s.Agents["coder"] = nil }, `agent "coder" is damaged`},
		"agent under another id":   {func(s *State) { s.Agents["coder"].ID = "x" }, `agent "coder" is damaged`},
		"agent without id":         {func(s *State) { s.Agents[""] = &Agent{Name: "x"} }, "is damaged"},
		"agent without name":       {func(s *State) { s.Agents["coder"].Name = "" }, `agent "coder" is damaged`},
		"message null":             {func(s *State) { s.Messages["m1"] = nil }, `message "m1" is damaged`},
		"message under another id": {func(s *State) { s.Messages["m1"].ID = "x" }, `message "m1" is damaged`},
		"broadcast null":           {func(s *State) { s.Broadcasts["b1"] = nil }, `broadcast "b1" is damaged`},
		"child that is not there":  {func(s *State) { s.Agents["coder"].Children = []string{"x"} }, `child "x", which is not its own`},
		"child of two":             {func(s *State) { s.Agents["coder"].Children = []string{"critic"} }, `child "critic", which is not its own`},
		"child twice":              {func(s *State) { s.Agents["lead"].Children = []string{"coder", "coder", "critic"} }, `child "coder", which is not its own`},
		"child without agent":      {func(s *State) { s.Agents["lead"].Children = []string{"coder"} }, "1 of its agents hang on nothing"},
		"children of one name":     {func(s *State) { s.Agents["coder"].Name = "critic" }, `child "critic", which is not its own`},
		"cycle":                    {cycle, "2 of its agents hang on nothing"},
		"negative counts":          {func(s *State) { s.Agents["coder"].Attempts = -1 }, "below zero"},
		"queued and not there":     {func(s *State) { s.Agents["coder"].Queue = []string{"m9"} }, `message "m9" is not queued`},
		"queued twice":             {func(s *State) { q := &s.Agents["critic"].Queue; *q = append(*q, (*q)[0]) }, "or is so twice"},
		"queued for another":       {func(s *State) { q := &s.Agents["coder"].Queue; *q = append(*q, "n1") }, `message "n1" is not queued for it`},
		"queued and injected":      {func(s *State) { q := &s.Agents["coder"].Queue; *q = append(*q, "wake-t1") }, `message "wake-t1" is not queued for it`},
		"out of order":             {func(s *State) { q := s.Agents["critic"].Queue; q[0], q[1] = q[1], q[0] }, "out of order"},
		"from the future":          {func(s *State) { s.Messages["m1"].Seq = 1 << 40 }, "make no sense"},
		"negative attempts":        {func(s *State) { s.Messages["m1"].Failures = -1 }, "make no sense"},
		"nowhere":                  {func(s *State) { s.Agents["coder"].Queue = nil }, `message m1: it is "queued" and nowhere`},
		"final":                    {func(s *State) { s.Messages["m1"].State = substrat.Answered }, `message "m1" is not queued`},
		"handled and nobody asks": {func(s *State) {
			s.Messages["n1"].State = substrat.Handled
			s.Agents["critic"].Queue = s.Agents["critic"].Queue[:1]
		}, "nowhere"},
		"turn without id":             {func(s *State) { s.Agents["coder"].Turn.ID = "" }, `its turn "" is damaged`},
		"turn of two":                 {func(s *State) { s.Agents["critic"].Turn = &Turn{ID: "t1"} }, `its turn "t1" is damaged`},
		"mail of another turn":        {func(s *State) { s.Messages["wake-t1"].Turn = "t0" }, "message wake-t1 is of another turn"},
		"injected twice":              {func(s *State) { s.Agents["coder"].Turn.Taken = []string{"wake-t1"} }, "or is so twice"},
		"completing without turn":     {func(s *State) { r := ""; s.Agents["critic"].Completing = &r }, "cannot be completing"},
		"completing root":             {func(s *State) { r := ""; s.Agents["lead"].Completing = &r; s.Agents["lead"].Turn = &Turn{ID: "t9"} }, "cannot be completing"},
		"waits for nothing":           {func(s *State) { s.Agents["critic"].Awaits = []string{"m9"} }, `waits for "m9"`},
		"waits for another's request": {func(s *State) { s.Agents["critic"].Awaits = []string{"m1"} }, `waits for "m1"`},
		"waits twice":                 {func(s *State) { s.Agents["lead"].Awaits = []string{"m1", "m1"} }, `waits for "m1"`},
		"asks and does not wait":      {func(s *State) { s.Agents["lead"].Awaits = nil }, "its sender does not wait for it"},
		"broadcast of nobody":         {func(s *State) { s.Broadcasts["b1"].From = "gone" }, "settled and not closed"},
		"broadcast that is settled":   {func(s *State) { s.Broadcasts["b1"].Open = nil }, "settled and not closed"},
		"broadcast of another":        {func(s *State) { s.Broadcasts["b1"].Open = []string{"m1"} }, `"m1" is no open request of it`},
		"broadcast with one twice":    {func(s *State) { o := &s.Broadcasts["b1"].Open; *o = append(*o, (*o)[0]) }, "is no open request of it"},
	} {
		t.Run(name, func(t *testing.T) {
			st := tell(t)
			coder := st.busy("coder", "t1")
			st.must(coder, SendAll{ID: "b1", Text: "who?"})
			st.must(operator("lead"), Send{ID: "m1", Recipient: "coder", Text: "?", Sync: true})
			st.must(operator("lead"), Send{ID: "n1", Recipient: "critic", Text: "fyi"})
			st.restart(true)
			d.do(st.s)
			data, err := json.Marshal(st.s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Decode(data); substrat.CodeOf(err) != substrat.CodeStorage || err == nil || !strings.Contains(err.Error(), d.why) {
				t.Errorf("%v, want %q", err, d.why)
			}
		})
	}
}

// cycle cuts coder and critic off the root and makes them each other's parents.
func cycle(s *State) {
	a, b := s.Agents["coder"], s.Agents["critic"]
	s.Agents["lead"].Children = nil
	a.Parent, a.Children, b.Parent, b.Children = b.ID, []string{b.ID}, a.ID, []string{a.ID}
}

func TestSnapshotsThatAreNone(t *testing.T) {
	for _, data := range []string{``, `null`, `{}`, `[]`, `7`, `{"agents":null}`, `{"messages":null}`, `{"broadcasts":null}`, `{"agents":[]}`, `{"seq":1.5}`, `{"team":"a"`} {
		if s, err := Decode([]byte(data)); err == nil || substrat.CodeOf(err) != substrat.CodeStorage {
			t.Errorf("Decode(%s): %+v, %v", data, s, err)
		}
	}
}
