package headlesstest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"substrat.dev/substrat/agentcli"
)

// Home gives the test a home of its own, with some files in it, and none of the CLIs' variables.
func Home(t *testing.T, files map[string]string) string {
	t.Helper()
	home := t.TempDir()
	for name, content := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	for _, name := range []string{"CLAUDE_CODE_PATH", "CODEX_PATH", "CODEX_HOME", "GEMINI_CLI_PATH"} {
		t.Setenv(name, "")
	}
	return home
}

// Install puts a program onto a search path that holds little else. It is native in that the system runs it by itself.
func Install(t *testing.T, name, script string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(bin, name)
	if script != "" {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	return path
}

// Argv compares the arguments of a command, but for the program, with the words wanted.
func Argv(t *testing.T, cmd agentcli.Command, want ...string) {
	t.Helper()
	if got := cmd.Argv[1:]; !slices.Equal(got, want) {
		t.Errorf("argv\n got %q\nwant %q", got, want)
	}
}

// File gives the content of a generated file of a command.
func File(t *testing.T, cmd agentcli.Command, path string) string {
	t.Helper()
	for _, f := range cmd.Files {
		if f.Path == path && f.Root == agentcli.InHome {
			return string(f.Data)
		}
	}
	t.Fatalf("no file %s among %+v", path, cmd.Files)
	return ""
}

// Exposes reports whether a command shows a file of the host at a place.
func Exposes(cmd agentcli.Command, host, at string) bool {
	return slices.ContainsFunc(cmd.Exposes, func(e agentcli.Expose) bool { return e.Host == host && e.At == at })
}

// Contains fails a test whose text misses a part.
func Contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}
