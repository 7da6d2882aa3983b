package confine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestArgvRoundTrip(t *testing.T) {
	p := Plan{
		Write: []string{"/ws with blanks\n", "/ü"}, Mounts: []Mount{{At: "/ws", ReadOnly: true, Dev: 1<<63 + 1, Ino: 1<<64 - 1}},
		Landlock: LandlockMust, Read: []string{"/usr"}, ConnectTCP: []uint16{65535}, Debug: true, NoUDP: true,
		Limits: Limits{OpenFiles: 1, Processes: 2, FileSize: 3, CPUSeconds: 4, Data: 1<<64 - 1},
	}
	want := []string{"agent", "--", "", "-x"}
	argv, err := Argv("/run/self", p, want)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(argv[:2], []string{"/run/self", Command}) {
		t.Errorf("argv begins with %q", argv[:2])
	}
	got, rest, err := parse(argv[2:])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" || !slices.Equal(rest, want) {
		t.Errorf("argv %q, plan (-want +got):\n%s", rest, diff)
	}
}

func TestArgvRefuses(t *testing.T) {
	off, must := Plan{Landlock: LandlockOff}, Plan{Landlock: LandlockMust, NoUDP: true}
	change := func(p Plan, do func(*Plan)) Plan { do(&p); return p }
	for why, c := range map[string]struct {
		exe  string
		plan Plan
		argv []string
	}{
		"no absolute path":       {"self", off, []string{"x"}},
		"the command is empty":   {"/self", off, nil},
		"NUL":                    {"/self", off, []string{"x", "a\x00b"}},
		"is not one of":          {"/self", Plan{}, []string{"x"}},
		"sandboxes of its own":   {"/self", change(must, func(p *Plan) { p.Nested = true }), []string{"x"}},
		"does not hold UDP":      {"/self", change(must, func(p *Plan) { p.NoUDP = false }), []string{"x"}},
		"belong to Landlock":     {"/self", change(off, func(p *Plan) { p.Read = []string{"/"} }), []string{"x"}},
		"/dev is the host's":     {"/self", change(must, func(p *Plan) { p.Write = []string{"/dev"} }), []string{"x"}},
		"a part of it is not":    {"/self", change(must, func(p *Plan) { p.AnyNet = true }), []string{"x"}},
		"the host's network":     {"/self", change(off, func(p *Plan) { p.AnyNet = true }), []string{"x"}},
		"port 0":                 {"/self", change(must, func(p *Plan) { p.ConnectTCP = []uint16{0} }), []string{"x"}},
		`"rel" is not a clean`:   {"/self", change(off, func(p *Plan) { p.Write = []string{"rel"} }), []string{"x"}},
		`"/a/../b" is not a`:     {"/self", change(off, func(p *Plan) { p.Mounts = []Mount{{At: "/a/../b"}} }), []string{"x"}},
		`"/\xff" is not a clean`: {"/self", change(off, func(p *Plan) { p.Write = []string{"/\xff"} }), []string{"x"}},
		`"/usr/" is not a clean`: {"/self", change(must, func(p *Plan) { p.Read = []string{"/usr/"} }), []string{"x"}},
		"name fewer places":      {"/self", change(off, func(p *Plan) { p.Write = []string{"/" + strings.Repeat("x", planMost)} }), []string{"x"}},
	} {
		if got, err := Argv(c.exe, c.plan, c.argv); err == nil || !strings.Contains(err.Error(), why) || got != nil {
			t.Errorf("%v, %v; want an error with %q", got, err, why)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for why, args := range map[string][]string{
		"not PLAN -- COMMAND": {`{"landlock":"off"}`, "x", "y"},
		"PLAN -- COMMAND":     {`{"landlock":"off"}`, "--"},
		"cannot be read":      {`{"landlock":"off"`, "--", "x"},
		"unknown field":       {`{"landlock":"off","wall":1}`, "--", "x"},
		"something else":      {`{"landlock":"off"} {}`, "--", "x"},
		"is not one of":       {`{}`, "--", "x"},
	} {
		if _, _, err := parse(args); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want an error with %q", args, err, why)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"landlock":"off","write":["/tmp"],"mounts":[{"at":"/ws","ino":1}],"limits":{"data":1}}`)
	f.Add(`{"landlock":"must","no_udp":true,"connect_tcp":[1]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, argv, err := parse([]string{text, "--", "x"})
		if err != nil {
			return
		}
		again, err := Argv("/self", p, argv)
		if err != nil {
			t.Fatalf("a plan that was read cannot be written: %v", err)
		}
		got, _, err := parse(again[2:])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}
