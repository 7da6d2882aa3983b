package tool

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/tools.md")

// TestReference: the page in docs says what the declarations say.
func TestReference(t *testing.T) {
	const path = "../../docs/tools.md"
	want := Reference()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/tools.md is not what the declarations say: go test ./internal/tool -update writes it")
	}
	for i := range All {
		if n := All[i].Notes(); !strings.HasPrefix(n, "Answers ") {
			t.Errorf("%s does not say what it answers", All[i].Name)
		}
		for _, a := range All[i].Arguments() {
			if a.Text == "" {
				t.Errorf("%s does not say what %s is", All[i].Name, a.Name)
			}
		}
	}
}
