package sim

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func scripted(steps string) string { return "<<SCRIPT [" + steps + "] SCRIPT>>" }

func TestStepOutcomes(t *testing.T) {
	for _, c := range []struct {
		steps string
		want  []string
		text  string
	}{
		{`{"read":"no"}`, []string{"read error"}, "Done: 1 step, 1 failed."},
		{`{"read":"a.txt"},{"text":"{{last}}"}`, []string{"read success"}, "one\ntwo\none\n"},
		{`{"read":"a.txt","offset":2,"limit":1},{"text":"{{last}}"}`, []string{"read success"}, "two"},
		{`{"read":"."}`, []string{"read error"}, "Done: 1 step, 1 failed."},
		{`{"edit":"a.txt","old":"one","new":"x"}`, []string{"edit error"}, "Done: 1 step, 1 failed."},
		{`{"edit":"a.txt","old":"three","new":"x"}`, []string{"edit error"}, "Done: 1 step, 1 failed."},
		{`{"edit":"no","old":"a","new":"b"}`, []string{"edit fileNotFound"}, "Done: 1 step, 1 failed."},
		{`{"edit":"a.txt","old":"two","new":"2"},{"read":"a.txt"},{"text":"{{last}}"}`, []string{"edit success", "read success"}, "one\n2\none\n"},
		{`{"write":"deep/er/b.txt","content":"hi {{message_id}}"},{"read":"deep/er/b.txt"},{"text":"{{last}}"}`,
			[]string{"edit success", "read success"}, "hi "},
		{`{"delete":"a.txt"},{"delete":"a.txt"}`, []string{"delete success", "delete fileNotFound"}, "Done: 2 steps, 1 failed."},
		{`{"shell":"echo out; echo err >&2; exit 4"},{"text":"{{last}}"}`, []string{"shell failure"}, "out\nerr"},
		{`{"shell":"kill -KILL $$"}`, []string{"shell failure"}, "Done: 1 step, 1 failed."},
		{`{"shell":"pwd"}`, []string{"shell success"}, "Done: 1 step."},
		{`{"shell":"sleep 60","timeout_ms":20}`, []string{"shell timeout"}, "Done: 1 step, 1 failed."},
		{`{"ls":"."},{"text":"{{last}}"}`, []string{"ls success"}, "a.txt\nsub/\nsub/c.go\n"},
		{`{"ls":"no"}`, []string{"ls error"}, "Done: 1 step, 1 failed."},
		{`{"glob":"*.go"},{"text":"{{last}}"}`, []string{"glob success"}, "sub/c.go"},
		{`{"glob":"*.go","path":"no"}`, []string{"glob error"}, "Done: 1 step, 1 failed."},
		{`{"grep":"ON","ignore_case":true},{"text":"{{last}}"}`, []string{"grep success"}, "a.txt:1:one\na.txt:3:one\n"},
		{`{"grep":"func","path":"sub"},{"text":"{{last}}"}`, []string{"grep success"}, "c.go:1:func main\n"},
		{`{"grep":"("}`, []string{"grep error"}, "Done: 1 step, 1 failed."},
		{`{"todo":["x"]},{"todo":[{"id":"1","status":"completed"},"y"],"merge":true}`, []string{"updateTodos success", "updateTodos success"}, "Done: 2 steps."},
		{`{"ask":"why?"}`, []string{"askQuestion rejected"}, "Done: 1 step, 1 failed."},
		{`{"plan":"# Do it","todos":["x"]}`, []string{"createPlan success"}, "Done: 1 step."},
		{`{"text":"x"},{"sleep_ms":1},{"fault":"stderr_flood","bytes":1}`, nil, "x"},
		{`{"text":"x"},{"shell":"true"}`, []string{"shell success"}, "xDone: 1 step."},
		{`{"sleep_ms":1},{"think":"x"}`, nil, "Done: 0 steps."},
		{`{"shell":7},{"text":[]},{"frob":1}`, nil, `The step "shell" needs a string.The step "text" needs a string.I do not know the step "frob".`},
		{`{"fault":"frob"}`, nil, `I do not know the fault "frob".`},
	} {
		t.Run(c.steps, func(t *testing.T) {
			b := newBox(t)
			b.write("a.txt", "one\ntwo\none\n")
			b.write("sub/c.go", "func main\n")
			events := b.stream(scripted(c.steps))
			got, _ := results(t, events)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if text := finalText(t, events); text != c.text {
				t.Errorf("text %q, want %q", text, c.text)
			}
		})
	}
}

func TestToolsAct(t *testing.T) {
	b := newBox(t)
	b.write("a.txt", "one\ntwo\n")
	b.stream(scripted(`{"edit":"a.txt","old":"two","new":"2"},{"write":"b.txt","content":"b"},{"shell":"cp a.txt c.txt"}`))
	if b.read("a.txt") != "one\n2\n" || b.read("b.txt") != "b" || b.read("c.txt") != "one\n2\n" {
		t.Error("a file is not as it should be")
	}
	b.stream(scripted(`{"delete":"b.txt"}`))
	if _, err := os.Stat(filepath.Join(b.space, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("deleted: %v", err)
	}
}

func TestWithoutForce(t *testing.T) {
	for _, c := range []struct {
		flags, steps string
		want         []string
	}{
		{"--trust", `{"shell":"ls -l"},{"shell":"ls; rm a"},{"shell":"echo"},{"write":"x","content":""}`,
			[]string{"shell success", "shell rejected", "shell rejected", "edit success"}},
		{"--mode=ask", `{"write":"x","content":""},{"delete":"a"},{"read":"no"}`, []string{"edit rejected", "delete rejected", "read error"}},
		{"--plan", `{"shell":"ls"},{"plan":"p"}`, []string{"shell rejected", "createPlan success"}},
	} {
		b := newBox(t)
		out := b.run("-p", "--trust", "--output-format", "stream-json", c.flags, scripted(c.steps))
		got, _ := results(t, parseEvents(t, out.stdout))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.flags, diff)
		}
	}
}

func TestDenyBeatsForce(t *testing.T) {
	b := newBox(t)
	b.write(".cursor/cli.json", `{"permissions":{"deny":["Shell(rm)"]}}`)
	got, _ := results(t, b.stream(scripted(`{"shell":"echo x && rm y"},{"shell":"echo x"}`)))
	if diff := cmp.Diff([]string{"shell rejected", "shell success"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestStrayChildDoesNotHoldTheStep(t *testing.T) {
	start := time.Now()
	events := newBox(t).stream(scripted(`{"shell":"sleep 20 & echo started $!"},{"shell":"kill {{last}} 2>/dev/null; set -- {{last}}; kill $2"}`))
	if got, _ := results(t, events); len(got) != 2 || got[0] != "shell success" {
		t.Errorf("%v", got)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestDiffs(t *testing.T) {
	for _, c := range []struct {
		before, after string
		isNew         bool
		want          string
		added, gone   int
	}{
		{"", "x\n", true, "--- /dev/null\n+++ b//p\n@@ -1,0 +1 @@\n+x", 1, 0},
		{"", "x\ny", true, "--- /dev/null\n+++ b//p\n@@ -1,0 +1,2 @@\n+x\n+y", 2, 0},
		{"a\nb\nc\nd\ne\nf\n", "a\nb\nX\nd\ne\nf\n", false, "--- a//p\n+++ b//p\n@@ -1,6 +1,6 @@\n a\n b\n-c\n+X\n d\n e\n f", 1, 1},
		{"1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n", false, "--- a//p\n+++ b//p\n@@ -3,3 +3,4 @@\n 3\n 4\n 5\n+6", 1, 0},
		{"a\n", "", false, "--- a//p\n+++ b//p\n@@ -1 +0,0 @@\n-a", 0, 1},
		{"a\n", "a\n", false, "--- a//p\n+++ b//p", 0, 0},
	} {
		got := diffFiles("/p", c.before, c.after, c.isNew)
		if diff := cmp.Diff(diff{c.added, c.gone, c.want}, got, cmp.AllowUnexported(got)); diff != "" {
			t.Errorf("%q to %q: %s", c.before, c.after, diff)
		}
	}
}

func TestGlobMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.go", "a/b/c.go", true}, {"a/*.go", "a/b/c.go", false}, {"a/**/*.go", "a/b/c.go", true},
		{"a/**/*.go", "a/c.go", true}, {"**", "x/y", true}, {"a/**/**/c", "a/c", true}, {"[", "[", false},
	} {
		if got := globMatch(c.pattern, c.name); got != c.want {
			t.Errorf("%s on %s: %t", c.pattern, c.name, got)
		}
	}
}

func TestParseCommand(t *testing.T) {
	p := parseCommand(`cd 'a b' && /bin/grep -n "x;y" 12 <in | sort > out; echo $(date) \; end`)
	if diff := cmp.Diff([]string{"cd", "grep", "sort", "echo"}, p.names()); diff != "" {
		t.Error(diff)
	}
	if !p.input || !p.output || !p.substitution {
		t.Errorf("%+v", p)
	}
	for _, odd := range []string{"", " ", ";;", "'", `"a`, `\`, "a\\", ">", "\n&"} {
		if got := parseCommand(odd).object(); len(got) == 0 {
			t.Errorf("%q: nothing", odd)
		}
	}
}
