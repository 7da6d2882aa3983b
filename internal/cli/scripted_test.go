package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandWords(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"run.py", "a b.sh"} {
		if err := os.WriteFile(name, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	tests := map[string]struct {
		given, want []string
		fails       bool
	}{
		"none":             {nil, nil, false},
		"a file":           {[]string{"./run.py"}, []string{at("run.py")}, false},
		"an interpreter":   {[]string{"python3 run.py run.py -v"}, []string{"python3", at("run.py"), "run.py", "-v"}, false},
		"quotes":           {[]string{`'./a b.sh' "x \"y\"" '\z' a\ b ""`}, []string{at("a b.sh"), `x "y"`, `\z`, "a b", ""}, false},
		"a word each":      {[]string{"./a b.sh", "x y"}, []string{at("a b.sh"), "x y"}, false},
		"absolute":         {[]string{"/usr/bin/env run"}, []string{"/usr/bin/env", "run"}, false},
		"missing":          {[]string{"./none"}, nil, true},
		"an open quote":    {[]string{`sh -c "x`}, nil, true},
		"an open escape":   {[]string{`sh \`}, nil, true},
		"not a file there": {[]string{"sh -c"}, []string{"sh", "-c"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := commandWords(tt.given)
			if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != tt.fails {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
