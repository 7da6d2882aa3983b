// Package storedtest is for tests of the readers of conversations: it writes what they are shown on a line each. It decides
// nothing about formats.
package storedtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"substrat.dev/substrat/agentcli"
)

// Put writes a file below a directory and gives its path.
func Put(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Load reads a session and shows each message on a line.
func Load(t testing.TB, h agentcli.Historian, o agentcli.HistoryOptions, id string) (agentcli.StoredSession, []string, error) {
	t.Helper()
	var out []string
	s, err := h.Load(context.Background(), o, id, func(m agentcli.Message) error { out = append(out, Line(m)); return nil })
	return s, out, err
}

// Line shows a message.
func Line(m agentcli.Message) string {
	var b strings.Builder
	b.WriteString(string(m.Role))
	if m.Context {
		b.WriteString(" context")
	}
	if m.Model != "" {
		b.WriteString(" " + m.Model)
	}
	if m.Usage != nil {
		fmt.Fprintf(&b, " %d/%d/%d", m.Usage.InputTokens, m.Usage.OutputTokens, m.Usage.CacheReadTokens)
	}
	for _, x := range m.Blocks {
		fmt.Fprintf(&b, " [%s", x.Type)
		if x.Text != "" {
			fmt.Fprintf(&b, " %q", x.Text)
		}
		if x.Bytes > 0 {
			fmt.Fprintf(&b, " %s %d bytes", x.MediaType, x.Bytes)
		}
		if c := x.Tool; c != nil {
			fmt.Fprintf(&b, " %s(%s) %s %s out=%q", c.Name, c.Title, c.Kind, c.Status, c.Output)
			if c.Error != "" {
				fmt.Fprintf(&b, " err=%q", c.Error)
			}
			if c.Diff != "" {
				fmt.Fprintf(&b, " diff=%q", c.Diff)
			}
			if c.Server != "" {
				fmt.Fprintf(&b, " server=%s", c.Server)
			}
		}
		b.WriteString("]")
	}
	return b.String()
}
