package secret_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	keyring "github.com/zalando/go-keyring"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/secret"
)

const canary = "cnry-5d2f77aa-0c"

func fetch(t *testing.T, text string) (string, error) {
	t.Helper()
	s, err := secret.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Value(t.Context())
	return v.Reveal(), err
}

func write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSources(t *testing.T) {
	t.Setenv("CANARY", canary)
	keyring.MockInit()
	if err := keyring.Set("svc", "me/too", canary); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"$CANARY", "file:" + write(t, "  "+canary+"\r\nnot this\n", 0o600), "file:" + write(t, canary, 0o400), "keyring:svc/me/too", canary} {
		if got, err := fetch(t, text); got != canary || err != nil {
			t.Errorf("%s gives %q, %v", text, got, err)
		}
	}
}

func TestMissing(t *testing.T) {
	keyring.MockInit()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	open := write(t, canary, 0o640)
	for text, want := range map[string]struct {
		code substrat.Code
		say  string
	}{
		"$NOT_SET_HERE":                    {substrat.CodeNotFound, "NOT_SET_HERE"},
		"file:/nonexistent/key":            {substrat.CodeNotFound, "/nonexistent/key"},
		"file:" + open:                     {substrat.CodeForbidden, "chmod 600 " + open},
		"file:" + pipe:                     {substrat.CodeForbidden, "no regular file"},
		"file:" + t.TempDir():              {substrat.CodeForbidden, "no regular file"},
		"file:" + write(t, "\nx\n", 0o600): {substrat.CodeNotFound, "first line"},
		"file:" + write(t, strings.Repeat("x", 1<<20), 0o600): {substrat.CodeTooLarge, "longer"},
		"keyring:svc/nobody": {substrat.CodeNotFound, "secret-tool store"},
	} {
		got, err := fetch(t, text)
		if got != "" || substrat.CodeOf(err) != want.code {
			t.Errorf("%s gives %q, %v", text, got, err)
		}
		data, _ := json.Marshal(err)
		if said := string(data); !strings.Contains(said, want.say) || strings.Contains(said, canary) {
			t.Errorf("%s says %s", text, said)
		}
	}
}

// TestNoKeyring is a machine without a secret service: it says so, soon, and what to do.
func TestNoKeyring(t *testing.T) {
	keyring.MockInitWithError(fmt.Errorf("dial unix /run/bus: no such file"))
	_, err := fetch(t, "keyring:svc/me")
	data, _ := json.Marshal(err)
	if substrat.CodeOf(err) != substrat.CodeUnavailable || !strings.Contains(string(data), "file:/path") {
		t.Errorf("it says %s", data)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, _ := secret.Parse("keyring:svc/me")
	if _, err := s.Value(ctx); err == nil {
		t.Error("an answer after the end")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"$", "$9x", "$A B", "file:", "file:relative", "keyring:", "keyring:svc", "keyring:/user", "keyring:svc/"} {
		if _, err := secret.Parse(text); substrat.CodeOf(err) != substrat.CodeInvalid {
			t.Errorf("%q is taken: %v", text, err)
		}
	}
}

// TestNeverPrinted prints, encodes and logs values and literal sources in every way there is.
func TestNeverPrinted(t *testing.T) {
	source, err := secret.Parse(canary)
	if err != nil {
		t.Fatal(err)
	}
	v := secret.New(canary)
	all := map[string]any{"value": v, "pointer": &v, "source": source, "map": map[string]secret.Value{"k": v}, "slice": []secret.Value{v},
		"struct": struct{ V secret.Value }{v}, "inner": struct {
			v secret.Value
			s secret.Source
		}{v, source}, "key": map[secret.Value]int{v: 1}, "sources": map[string]secret.Source{"k": source}}
	for name, x := range all {
		out := fmt.Sprintf("%v %+v %#v %s %q %x %d", x, x, x, x, x, x, x)
		data, _ := json.Marshal(x)
		other, _ := xml.Marshal(x)
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "x", x)
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "x", x)
		out += string(data) + string(other) + log.String() + source.Place() + fmt.Sprint(fmt.Errorf("oh: %v", x))
		if strings.Contains(out, canary) || strings.Contains(out, fmt.Sprintf("%x", canary)) {
			t.Errorf("%s prints %s", name, out)
		}
	}
}
