package turn

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const hush = "hush-7f3a91c2-canary"

// TestSecretsAreWrittenNowhere gives a process a secret that it prints in every way it has, in pieces that are flushed one
// by one, and looks at every file of the turn.
func TestSecretsAreWrittenNowhere(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("")
		spec.Argv = r.argv("/bin/sh", "-c", `
			printf '{"a":"%s"}\n' "$KEY"
			printf '%s' "$KEY" | base64
			i=1; while [ $i -lt ${#KEY} ]; do
				printf '%s' "$KEY" | head -c $i; sleep 0.001; printf '%s\n' "$KEY" | tail -c +$((i+1)); i=$((i+1))
			done
			echo "no $KEY" >&2; printf 'cut off: %s' "$KEY" >&2
			cat; exit 3`)
		spec.Env = append(spec.Env, "KEY="+hush)
		spec.Secrets, spec.Stdin = []string{hush}, []byte(`{"in":"`+hush+`"}`+"\n")
		exit, out := r.run(spec)
		if exit.Code != 3 {
			t.Fatalf("exit is %+v", exit)
		}
		if want := 2 + len(hush); strings.Count(out, "[redacted]") != want || !strings.Contains(out, `{"a":"[redacted]"}`+"\n") {
			t.Errorf("there are %d marks, want %d, in %s", strings.Count(out, "[redacted]"), want, out)
		}
		if exit.StdoutBytes != int64(len(out)) {
			t.Errorf("the record says %d bytes, the file has %d", exit.StdoutBytes, len(out))
		}
		if got := r.file(stderrName); got != "no [redacted]\ncut off: [redacted]" {
			t.Errorf("stderr is %q", got)
		}
		err := filepath.WalkDir(filepath.Dir(r.dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), hush[5:]) {
				t.Errorf("%s holds the secret", path)
			}
			if st, _ := d.Info(); st.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is %v", path, st.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestOptionsAreUnseen gives bwrap a variable that its command line does not show.
func TestOptionsAreUnseen(t *testing.T) {
	r := newRig(t, true)
	spec := r.spec("")
	spec.Argv = r.argv("/bin/sh", "-c", `echo "$KEY" | tr a-z A-Z; read line`)
	spec.Options, spec.KeepStdin = []string{"--setenv", "KEY", hush}, true
	turn := r.start(spec)
	r.expect(turn, strings.ToUpper(hush))
	for _, pid := range r.living() {
		for _, name := range []string{"cmdline", "environ"} {
			data, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
			if name == "cmdline" && strings.Contains(string(data), hush) {
				t.Errorf("process %d shows it: %q", pid, data)
			}
		}
	}
	if err := turn.CloseStdin(r.context()); err != nil {
		t.Fatal(err)
	}
	r.wait(turn)
	if got := r.file(stdoutName); got != strings.ToUpper(hush)+"\n" {
		t.Errorf("inside it is %q", got)
	}
}
