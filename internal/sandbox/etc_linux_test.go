package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPreparedEtc: what sandboxes show as /etc holds what programs need, nothing that could be secret, and no way to
// change it.
func TestPreparedEtc(t *testing.T) {
	etc := filepath.Join(t.TempDir(), "etc")
	if err := PrepareEtc(etc); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"shadow", "gshadow", "sudoers", "machine-id", "ssh", "hostname", "ssl/private"} {
		if _, err := os.Lstat(filepath.Join(etc, secret)); err == nil {
			t.Errorf("/etc/%s was copied", secret)
		}
	}
	ws := t.TempDir()
	argv, err := Wrap(Profile{Workspace: ws, Etc: etc}, []string{"/bin/sh", "-c", "id -un && cat /etc/ld.so.cache >/dev/null && ls /etc && ! touch /etc/x 2>/dev/null"})
	if err != nil {
		t.Skipf("no sandbox can be made here: %v", err)
	}
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "passwd") || strings.Contains(string(out), "shadow") {
		t.Errorf("%v %s", err, out)
	}
	// A second time replaces the first.
	if err := PrepareEtc(etc); err != nil {
		t.Fatal(err)
	}
}
