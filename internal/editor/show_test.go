package editor

import (
	"encoding/json"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

func TestWords(t *testing.T) {
	got := words([]acp.ContentBlock{
		acp.TextBlock("look at"),
		acp.ResourceLinkBlock("a b.go", "file:///src/a%20b.go#L3"),
		acp.ResourceLinkBlock("page", "https://example.com/x"),
		acp.ImageBlock("AAAA", "image/png"),
		acp.ResourceBlock(acp.EmbeddedResourceResource{TextResourceContents: &acp.TextResourceContents{Uri: "file:///src/doc.md", Text: "```go\nx\n```\n"}}),
		acp.ResourceBlock(acp.EmbeddedResourceResource{BlobResourceContents: &acp.BlobResourceContents{Uri: "file:///src/logo.bin", Blob: "AA=="}}),
	})
	want := "look at\n/src/a b.go#L3\nhttps://example.com/x\n/src/doc.md:\n````\n```go\nx\n```\n````\n/src/logo.bin"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"substrat": "substrat", "My Project": "my-project", "/": "project", "..": "project", "Straße": "stra-e", "-x_": "x",
		strings.Repeat("a", 39) + "-b": strings.Repeat("a", 39),
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestChanges(t *testing.T) {
	type pair struct{ Old, New string }
	for _, c := range []struct {
		name, diff string
		want       []pair
	}{
		{"none", "", nil},
		{"a new file", "@@ -0,0 +1,2 @@\n+one\n+two\n", []pair{{"<none>", "one\ntwo\n"}}},
		{"no hunk lines", "-old\n+new\n", []pair{{"old\n", "new\n"}}},
		{"two hunks", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@ func x\n-d\n\\ No newline at end of file\n+-- e", []pair{{"a\nb\n", "a\nc\n"}, {"d\n", "-- e"}}},
		{"named", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", []pair{{"a\n", "b\n"}}},
		{"an empty line of context", "@@ -1,2 +1,1 @@\n\n-b\n", []pair{{"\nb\n", "\n"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []pair
			for _, x := range changes("/f", c.diff) {
				p := pair{"<none>", x.Diff.NewText}
				if x.Diff.OldText != nil {
					p.Old = *x.Diff.OldText
				}
				got = append(got, p)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzChanges: whatever a CLI calls a diff, an editor can take what is made of it.
func FuzzChanges(f *testing.F) {
	f.Add("@@ -1 +1 @@\n-a\n+b\n")
	f.Add("--- a\n+++ b\n c")
	f.Fuzz(func(t *testing.T, diff string) {
		size := 0
		for _, x := range changes("/f", diff) {
			size += len(x.Diff.NewText)
			if _, err := json.Marshal(x); err != nil {
				t.Fatal(err)
			}
		}
		if size > len(diff) {
			t.Errorf("%d bytes of new text from %d bytes of diff", size, len(diff))
		}
	})
}

func TestOptions(t *testing.T) {
	kindsOf := func(x substrat.Item) (out []acp.PermissionOptionKind) {
		for _, o := range optionsOf(x) {
			out = append(out, o.Kind)
		}
		return out
	}
	once, always, reject := acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways, acp.PermissionOptionKindRejectOnce
	for _, c := range []struct {
		item substrat.Item
		want []acp.PermissionOptionKind
	}{
		{substrat.Item{Kind: substrat.ItemPermission, Options: []string{"allow", "always", "deny"}}, []acp.PermissionOptionKind{once, always, reject}},
		{substrat.Item{Kind: substrat.ItemPlan, Options: []string{"accept", "reject"}}, []acp.PermissionOptionKind{once, reject}},
		{substrat.Item{Kind: substrat.ItemBudget, Options: []string{"extend", "leave"}}, []acp.PermissionOptionKind{once, reject}},
		{substrat.Item{Kind: substrat.ItemFailure, Options: []string{"retry", "dismiss"}}, []acp.PermissionOptionKind{once, reject}},
		{substrat.Item{Kind: substrat.ItemQuestion, Options: []string{"leave", "always"}}, []acp.PermissionOptionKind{once, once}},
	} {
		if diff := cmp.Diff(c.want, kindsOf(c.item)); diff != "" {
			t.Errorf("%s: %s", c.item.Kind, diff)
		}
	}
}

func TestContent(t *testing.T) {
	f := &following{root: substrat.Agent{Dir: "/work"}}
	got := f.contentOf(&agentcli.ToolCall{Paths: []string{"a.go"}, Diff: "-x\n+y\n", Output: "same", Error: "same"})
	if len(got) != 2 || got[0].Diff == nil || got[0].Diff.Path != "/work/a.go" || got[1].Content.Content.Text.Text != "```\nsame\n```" {
		t.Errorf("%+v", got)
	}
	if got := f.placesOf(&agentcli.ToolCall{Paths: []string{"a.go", "/b.go"}, Line: 7}); len(got) != 2 || got[0].Path != "/work/a.go" || *got[0].Line != 7 || got[1].Path != "/b.go" || got[1].Line != nil {
		t.Errorf("%+v", got)
	}
}
