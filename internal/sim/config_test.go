package sim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigRoot(t *testing.T) {
	for _, c := range []struct {
		env  environ
		want string
	}{
		{environ{"HOME": "/h"}, "/h/.cursor"},
		{environ{"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/cursor"},
		{environ{"HOME": "/h", "XDG_CONFIG_HOME": "/x", "CURSOR_CONFIG_DIR": "/c"}, "/c"},
	} {
		if got, err := newConfig(c.env, ""); err != nil || got.root != c.want {
			t.Errorf("%v: %v, %v", c.env, got, err)
		}
	}
	if got, err := newConfig(environ{"HOME": "/h", "CURSOR_DATA_DIR": "/d"}, ""); err != nil || got.projects != "/d/projects" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := newConfig(environ{}, ""); err == nil {
		t.Errorf("without HOME: %v", got)
	}
}

func TestSlug(t *testing.T) {
	for in, want := range map[workspace]string{"/home/u/my_app.v2": "home-u-my-app-v2", "/a--b/é/": "a-b"} {
		if got := in.slug(); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestTrustIsKept(t *testing.T) {
	b := newBox(t)
	if out := b.run("-p", "--force", "x"); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	if out := b.run("-p", "x"); out.code != 1 {
		t.Errorf("--force left trust behind: %+v", out)
	}
	if out := b.run("-p", "--trust", "x"); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	if out := b.run("-p", "x"); out.code != 0 {
		t.Errorf("--trust was forgotten: %+v", out)
	}
	data, err := os.ReadFile(b.conf("projects/" + workspace(b.space).slug() + "/.workspace-trusted"))
	if err != nil || !strings.Contains(string(data), `"workspacePath":"`+b.space+`","trustMethod":"cli-flag"}`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestModelIsKeptAndSoIsTheRest(t *testing.T) {
	b := newBox(t)
	if err := os.MkdirAll(b.conf(""), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.conf("cli-config.json"), []byte(`{"mine":{"z":[1]},"model":5}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.stream("x")[0].Model; got != "Auto" {
		t.Errorf("model %s", got)
	}
	if got := b.stream("x", "--model", "gpt-5-mini")[0].Model; got != "GPT-5 Mini" {
		t.Errorf("model %s", got)
	}
	if got := b.stream("x")[0].Model; got != "GPT-5 Mini" {
		t.Errorf("the model was forgotten: %s", got)
	}
	var all map[string]json.RawMessage
	data, err := os.ReadFile(b.conf("cli-config.json"))
	if err != nil || json.Unmarshal(data, &all) != nil || all["mine"] == nil {
		t.Errorf("%s, %v", data, err)
	}
	if left, _ := filepath.Glob(b.conf("*.tmp*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if out := b.run("models"); !strings.Contains(out.stdout, "gpt-5-mini - GPT-5 Mini (current)\n") {
		t.Errorf("%s", out.stdout)
	}
}

func TestBrokenConfigIsNotOverwritten(t *testing.T) {
	b := newBox(t)
	if err := os.MkdirAll(b.conf(""), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.conf("cli-config.json"), []byte(`{"half`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := b.run("-p", "--force", "--model", "gpt-5", "x")
	data, err := os.ReadFile(b.conf("cli-config.json"))
	if out.code != 1 || err != nil || string(data) != `{"half` {
		t.Errorf("%+v, %s, %v", out, data, err)
	}
}

func TestExpandEnvironment(t *testing.T) {
	env := newEnviron([]string{"A=1", "A=2", "=x", "B"})
	for in, want := range map[string]string{
		"${env:A}-${env:NO}-": "2--", "${env:A": "${env:A", "$A ${A}": "$A ${A}", "${env:${env:A}}": "}",
	} {
		if got := env.expand(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
