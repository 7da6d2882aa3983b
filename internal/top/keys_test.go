package top

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// TestKeys presses keys and looks at what the last one asks for.
func TestKeys(t *testing.T) {
	lead, coder, docs := target{"id-lead", "lead"}, target{"id-lead/coder", "lead/coder"}, target{"id-docs", "docs"}
	for name, c := range map[string]struct {
		keys []string
		want action
	}{
		"quit":                         {[]string{"q"}, action{verb: doQuit}},
		"quit at once":                 {[]string{"m", "a", "ctrl+c"}, action{verb: doQuit}},
		"q is a letter in a message":   {[]string{"m", "q", "enter"}, action{verb: doSend, agent: lead, text: "q"}},
		"q leaves the queue only":      {[]string{"u", "q"}, action{}},
		"q leaves the log only":        {[]string{"l", "q"}, action{}},
		"q, q":                         {[]string{"l", "q", "q"}, action{verb: doQuit}},
		"stop":                         {[]string{"j", "s"}, action{verb: doStop, agent: coder}},
		"poke":                         {[]string{"p"}, action{verb: doPoke, agent: lead}},
		"gate":                         {[]string{"g"}, action{verb: doGate, agent: lead}},
		"ungate":                       {[]string{"k", "g"}, action{verb: doUngate, agent: docs}},
		"end, yes":                     {[]string{"x", "y"}, action{verb: doEnd, agent: lead}},
		"end, no":                      {[]string{"x", "n"}, action{}},
		"end, enter is not yes":        {[]string{"x", "enter"}, action{}},
		"message":                      {[]string{"m", "H", "i", "x", "backspace", "enter"}, action{verb: doSend, agent: lead, text: "Hi"}},
		"no message":                   {[]string{"m", " ", "enter"}, action{}},
		"message taken back":           {[]string{"m", "H", "esc", "enter"}, action{}},
		"words":                        {[]string{"m", "a", " ", "b", "c", "ctrl+w", "d", "enter"}, action{verb: doSend, agent: lead, text: "a d"}},
		"a wide letter":                {[]string{"m", "日", "本", "backspace", "enter"}, action{verb: doSend, agent: lead, text: "日"}},
		"choose":                       {[]string{"u", "enter", "2", "enter"}, action{verb: doAnswer, item: "i1", agent: target{"", "lead"}, answer: substrat.Answer{Choices: []string{"green"}}}},
		"choose another":               {[]string{"u", "enter", "2", "1", "enter"}, action{verb: doAnswer, item: "i1", agent: target{"", "lead"}, answer: substrat.Answer{Choices: []string{"red"}}}},
		"choose by arrow":              {[]string{"u", "enter", "down", "space", "enter"}, action{verb: doAnswer, item: "i1", agent: target{"", "lead"}, answer: substrat.Answer{Choices: []string{"green"}}}},
		"type instead":                 {[]string{"u", "enter", "o", "k", "enter"}, action{verb: doAnswer, item: "i1", agent: target{"", "lead"}, answer: substrat.Answer{Text: "ok"}}},
		"choose and type":              {[]string{"u", "enter", "1", "tab", "4", "enter"}, action{verb: doAnswer, item: "i1", agent: target{"", "lead"}, answer: substrat.Answer{Choices: []string{"red"}, Text: "4"}}},
		"nothing chosen":               {[]string{"u", "enter", "enter"}, action{}},
		"chosen and not":               {[]string{"u", "enter", "1", "1", "enter"}, action{}},
		"no such option":               {[]string{"u", "enter", "7", "esc"}, action{}},
		"no text where none is wanted": {[]string{"u", "j", "enter", "z", "enter"}, action{}},
		"a question without options":   {[]string{"u", "end", "enter", "1", "enter"}, action{verb: doAnswer, item: "i3", agent: target{"", "docs"}, answer: substrat.Answer{Text: "1"}}},
		"back from an item":            {[]string{"u", "enter", "1", "esc", "esc", "s"}, action{verb: doStop, agent: lead}},
		"filter":                       {[]string{"/", "W", "2", "3", "enter", "s"}, action{verb: doStop, agent: target{"id-lead/coder/w23", "lead/coder/w23"}}},
		"filter taken away":            {[]string{"/", "d", "o", "c", "enter", "esc", "end", "s"}, action{verb: doStop, agent: target{"id-lead/reviewer", "lead/reviewer"}}},
		"filter nothing":               {[]string{"/", "~", "enter", "m", "a", "enter"}, action{}},
		"help":                         {[]string{"?", "s"}, action{}},
		"down by pages":                {[]string{"pgdown", "pgdown", "pgdown", "pgdown", "down", "s"}, action{verb: doStop, agent: target{"id-lead/reviewer", "lead/reviewer"}}},
		"home":                         {[]string{"end", "home", "up", "s"}, action{verb: doStop, agent: docs}},
	} {
		t.Run(name, func(t *testing.T) {
			s, last := keys(scene(), c.keys[:len(c.keys)-1]...), c.keys[len(c.keys)-1]
			if _, got := act(s, last); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v asks for %+v, not %+v", c.keys, got, c.want)
			}
		})
	}
}

func TestSeveralChoices(t *testing.T) {
	s := scene()
	s.Items[0].Multiple = true
	if _, got := act(keys(s, "u", "enter", "1", "3", "2", "1"), "enter"); !reflect.DeepEqual(got.answer.Choices, s.Items[0].Options[1:]) {
		t.Errorf("chose %q", got.answer.Choices)
	}
}

// TestTargetStays: an action is about the agent it was begun for, though the agents change meanwhile.
func TestTargetStays(t *testing.T) {
	s := keys(scene(), "x")
	d := s.Data
	d.Agents = d.Agents[2:]
	if _, got := act(s.receive(d), "y"); got.agent.id != "id-lead" {
		t.Errorf("would end %q", got.agent.path)
	}
}

// TestCursorStays: what is selected stays selected when others come and go; when it goes, its neighbour is.
func TestCursorStays(t *testing.T) {
	s := keys(scene(), "j", "j")
	if x, _ := s.current(); x.Name != "\x1b[31mtester\u202e" {
		t.Fatalf("selected %q", x.Path)
	}
	d := s.Data
	d.Agents = append([]substrat.Agent{{ID: "new", Path: "a"}}, d.Agents...)
	if s = s.receive(d); s.selected != keys(scene(), "j", "j").selected {
		t.Errorf("selected %q", s.selected)
	}
	i := s.rowOf(s.selected)
	d.Agents = append(d.Agents[:i:i], d.Agents[i+1:]...)
	if x, ok := s.receive(d).current(); !ok || x.Path != d.Agents[i].Path {
		t.Errorf("selected %q, not %q", x.Path, d.Agents[i].Path)
	}
	d.Agents = nil
	if _, ok := s.receive(d).current(); ok {
		t.Error("an agent that is not there is selected")
	}
}

func TestTreeOrder(t *testing.T) {
	var list []substrat.Agent
	for _, p := range []string{"lead/w10", "lead", "zoo", "lead/w2", "lead-er", "lead/w2/a", "a"} {
		list = append(list, substrat.Agent{ID: "z" + p, Path: p})
	}
	sortTree(list)
	var got []string
	for _, x := range list {
		got = append(got, x.Path)
	}
	if want := "a lead lead/w2 lead/w2/a lead/w10 lead-er zoo"; strings.Join(got, " ") != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestPaste(t *testing.T) {
	s := keys(scene(), "m").paste("two\nlines\x1b[31m\n")
	if s.input != "two lines" {
		t.Errorf("pasted %q", s.input)
	}
	if s = keys(scene()).paste("q"); s.mode != modeTree || s.input != "" {
		t.Error("what is pasted into the tree is taken for keys")
	}
	if s = keys(scene(), "m").paste(strings.Repeat("x", mostInput+1)); len(s.input) > mostInput {
		t.Errorf("%d bytes were pasted", len(s.input))
	}
}

func TestLogScrolls(t *testing.T) {
	s := keys(scene(), "l")
	for i := range 100 {
		s.log = append(s.log, strings.Repeat("x", i%5)+"line")
	}
	end := View(s, 80, 24)
	if got := View(keys(s, "up"), 80, 24); got == end {
		t.Error("up does not scroll")
	}
	if got := View(keys(s, "pgup", "pgdown"), 80, 24); got != end {
		t.Error("a page up and down is not where it was")
	}
	up := keys(s, "home")
	at := View(up, 80, 24)
	up.log = append(up.log, "more")
	if View(up, 80, 24) != at {
		t.Error("what comes moves a transcript that is scrolled back")
	}
	s.log = append(s.log, "the newest")
	if !strings.Contains(View(s, 80, 24), "the newest") {
		t.Error("the end is not followed")
	}
}

func TestNoticeFades(t *testing.T) {
	s := keys(scene(), "x", "n")
	at := func(after time.Duration) string {
		d := s.Data
		d.At = noon.Add(after)
		s = s.receive(d)
		return s.notice
	}
	if at(time.Second) == "" || at(noticeFor) == "" {
		t.Error("a notice is gone at once")
	}
	if at(2*noticeFor) != "" {
		t.Error("a notice stays for ever")
	}
}
