package workspace

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"substrat.dev/substrat"
)

// capture runs a script the way a turn would.
func capture(t *testing.T, shell, dir, script string, before map[string]string) ([]byte, error) {
	t.Helper()
	cmd := exec.Command(shell, "-c", CaptureScript(script))
	cmd.Dir = dir
	cmd.Env = []string{}
	for name, value := range before {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd.Output()
}

func TestCapture(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	os.MkdirAll(filepath.Join(dir, "sub/deep"), 0o700)
	os.WriteFile(filepath.Join(dir, "activate"), []byte("VIRTUAL_ENV=\"$PWD/.venv\"\nexport VIRTUAL_ENV PATH=\"$VIRTUAL_ENV/bin:$PATH\"\n"), 0o600)
	before := map[string]string{"PATH": os.Getenv("PATH"), "KEEP": "a\nb", "GO": "1", "PWD": dir, "NOT-A-NAME": "x"}
	for _, shell := range []string{"sh", "bash"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("no %s", shell)
			continue
		}
		for script, want := range map[string]substrat.WorkspaceEnv{
			"":                     {},
			". ./activate; cd sub": {Set: map[string]string{"VIRTUAL_ENV": dir + "/.venv", "PATH": dir + "/.venv/bin:" + before["PATH"]}, Dir: "sub"},
			"export A='it'\"'\"'s\n\n$x' ; echo noise": {Set: map[string]string{"A": "it's\n\n$x"}},
			"unset GO; cd sub/deep":                    {Unset: []string{"GO"}, Dir: "sub/deep"},
			"set -eu; export E=; env() { :; }":         {Set: map[string]string{"E": ""}},
			"PATH=/none; export PATH":                  {Set: map[string]string{"PATH": "/none"}},
			"printf '\\0x\\0'; unexported=1":           {},
			"set -x; export X=1":                       {Set: map[string]string{"X": "1"}},
		} {
			out, err := capture(t, shell, dir, script, before)
			if err != nil {
				t.Errorf("%s %q: %v", shell, script, err)
				continue
			}
			got, err := ParseCapture(out, before, dir)
			if err != nil || !maps.Equal(got.Set, want.Set) || !slices.Equal(got.Unset, want.Unset) || got.Dir != want.Dir {
				t.Errorf("%s %q: %+v %v, want %+v", shell, script, got, err, want)
			}
		}
		for script, word := range map[string]string{
			"exit 0": "end", "exit 3": "end", "false": "end", "if": "end", "exec true": "end", "cd /": "outside",
			"export A=$(printf '\\377')":                                   "UTF-8",
			"export A=$(head -c 70000 /dev/zero | tr '\\0' x)":             "64 KiB",
			"i=0; while [ $i -lt 300 ]; do export V$i=1; i=$((i+1)); done": "256",
		} {
			out, _ := capture(t, shell, dir, script, before)
			_, err := ParseCapture(out, before, dir)
			if e, ok := err.(*substrat.Error); !ok || e.Hint == "" || !strings.Contains(err.Error(), word) {
				t.Errorf("%s %q: %v", shell, script, err)
			}
		}
	}
	if _, err := ParseCapture(make([]byte, mostCapture+1), nil, dir); substrat.CodeOf(err) != substrat.CodeTooLarge {
		t.Error(err)
	}
}

func FuzzParseCapture(f *testing.F) {
	f.Add([]byte(captureBegins+"/w/sub\nx\x00A=1\x00PATH=/bin\x00BAD NAME=1\x00"+captureEnds), "GO", "1", "/w")
	f.Add([]byte("noise"+captureBegins+"/w\nx\x00A=\xff\x00"+captureEnds+"more"), "A", "", "/")
	f.Add([]byte(captureBegins+"/w/../x\nx\x00"+captureEnds), "PWD", "", "/w")
	f.Fuzz(func(t *testing.T, out []byte, name, value, dir string) {
		before := map[string]string{name: value}
		env, err := ParseCapture(out, before, dir)
		if err != nil {
			return
		}
		if env.Dir != "" && !filepath.IsLocal(env.Dir) {
			t.Errorf("dir %q", env.Dir)
		}
		for k, v := range env.Set {
			if !isName(k) || !utf8.ValidString(v) || strings.Contains(v, "\x00") || slices.Contains(volatile, k) {
				t.Errorf("set %q=%q", k, v)
			}
			if old, had := before[k]; had && old == v {
				t.Errorf("%q did not change", k)
			}
			if slices.Contains(env.Unset, k) {
				t.Errorf("%q is set and unset", k)
			}
		}
		if len(env.Set)+len(env.Unset) > mostEnvVars {
			t.Errorf("%d variables", len(env.Set)+len(env.Unset))
		}
	})
}
