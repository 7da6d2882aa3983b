package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctorKeys looks at keys that are open to others, and says none of them.
func TestDoctorKeys(t *testing.T) {
	home := t.TempDir()
	good, open := filepath.Join(home, "good"), filepath.Join(home, "open")
	if err := os.WriteFile(good, []byte("cnry-1-aaaa"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(open, []byte("cnry-2-aaaa"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("[providers.sim]\nenv = { A_KEY = \"file:%s\", B_KEY = \"file:%s\", C_TOKEN = \"cnry-3-aaaa\", D = \"plain\", E_KEY = \"$E\" }\n", good, open)
	if err := os.WriteFile(ConfigPath(home), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%+v", keys(t.Context(), home))
	for _, want := range []string{"providers.sim A_KEY is in the file " + good, "chmod 600 " + open, "providers.sim C_TOKEN stands in substrat.toml"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
	if n := len(keys(t.Context(), home)); n != 3 || strings.Contains(said, "cnry") {
		t.Errorf("%d findings: %s", n, said)
	}
}
