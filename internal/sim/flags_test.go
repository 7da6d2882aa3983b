package sim

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFlags(t *testing.T) {
	for _, c := range []struct {
		line string
		want options
		err  string
	}{
		{line: "", want: options{}},
		{line: "-p hello world", want: options{print: true, operands: []string{"hello", "world"}}},
		{line: "hello -p --model=m x", want: options{print: true, model: "m", operands: []string{"hello", "x"}}},
		{line: "-pf --trust", want: options{print: true, force: true, trust: true}},
		{line: "-ehttp://x -H a:b -", want: options{endpoint: "http://x", operands: []string{"-"}}},
		{line: "--resume", want: options{resuming: true}},
		{line: "--resume -p", want: options{resuming: true, print: true}},
		{line: "--resume id go", want: options{resuming: true, resume: "id", operands: []string{"go"}}},
		{line: "--resume=-1", want: options{resuming: true, resume: "-1"}},
		{line: "--plan --yolo", want: options{mode: "plan", force: true}},
		{line: "a -- --b -p", want: options{operands: []string{"a", "--b", "-p"}, literal: 2}},
		{line: "--x", err: "error: unknown option '--x'"},
		{line: "-pz", err: "error: unknown option '-pz'"},
		{line: "--force=yes", err: "error: unknown option '--force=yes'"},
		{line: "--model", err: "error: option '--model <value>' argument missing"},
	} {
		got, err := parseFlags(strings.Fields(c.line))
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%q: %v", c.line, err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(options{})); err != nil || diff != "" {
			t.Errorf("%q: %v %s", c.line, err, diff)
		}
	}
}

func FuzzParseFlags(f *testing.F) {
	f.Add("-p\x00--resume\x00-f\x00--\x00x")
	f.Add("-e\x00-wH")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		o, err := parseFlags(args)
		if err == nil && (len(o.operands) > len(args) || o.literal > len(o.operands)) {
			t.Errorf("%+v", o)
		}
	})
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		stdin  string
		stderr string // a part of it
		code   int
	}{
		{"unknown option first", []string{"--what", "--output-format", "xml"}, "", "error: unknown option '--what'\n", 1},
		{"format before prompt", []string{"-p", "--output-format", "xml"}, "", "Invalid output format: xml", 1},
		{"prompt before model", []string{"-p", "--model", "m"}, " \n", "No prompt", 1},
		{"model before trust", []string{"-p", "--model", "m", "hi"}, "", "Cannot use this model: m. Available models: auto, ", 1},
		{"trust", []string{"-p", "hi"}, "", "\n⚠ Workspace Trust Required\n", 1},
		{"bad mode", []string{"-p", "--mode", "m", "hi"}, "", "--mode", 1},
		{"no workspace", []string{"-p", "--workspace", "/no/such/dir", "hi"}, "", "does not exist", 1},
		{"acp", []string{"acp"}, "", "does not play the command 'acp'", 1},
		{"force needs no trust", []string{"-p", "--force"}, "from stdin\n", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(t)
			b.stdin = c.stdin
			out := b.run(c.args...)
			if out.code != c.code || !strings.Contains(out.stderr, c.stderr) || c.code == 1 && out.stdout != "" {
				t.Errorf("%+v", out)
			}
			if c.code == 0 && !strings.Contains(out.stdout, `You asked: "from stdin".`) {
				t.Errorf("answer %q", out.stdout)
			}
		})
	}
}

func TestVersionAndHelp(t *testing.T) {
	b := newBox(t)
	if out := b.run("-v"); out.code != 0 || !regexp.MustCompile(`^\d{4}\.\d{2}\.\d{2}-[0-9a-z]+\n$`).MatchString(out.stdout) {
		t.Errorf("version %+v", out)
	}
	out := b.run("--help")
	for _, option := range []string{"--trust", "--workspace", "--approve-mcps", "--stream-partial-output"} {
		if !strings.Contains(out.stdout, option) {
			t.Errorf("help does not name %s", option)
		}
	}
}

func TestLiteralWordIsNoCommand(t *testing.T) {
	out := newBox(t).run("-p", "--force", "--", "status")
	if !strings.HasPrefix(out.stdout, `You asked: "status".`) {
		t.Errorf("%+v", out)
	}
}
