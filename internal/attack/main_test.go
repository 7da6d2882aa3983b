//go:build attack && linux

package attack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMain: the test binary is three programs. Called by go test it drives; as "outside DIR" it is the host's side under one
// user; as "inside" it is what the attacker runs.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "outside" {
		os.Exit(outsideMain(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == "inside" {
		os.Exit(insideMain(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// row is a line of the table.
type row struct {
	ID      string  `json:"id"`
	Outcome outcome `json:"outcome"`
}

// TestAttack tries everything as each user there is, prints the table, and fails for every hole. ATTACK=F01,N0 tries only
// those whose number begins so.
func TestAttack(t *testing.T) {
	bin := buildAll(t)
	users := []string{"user"}
	if os.Geteuid() == 0 {
		users = []string{"root", "user"}
	}
	if only := os.Getenv("ATTACK_AS"); only != "" {
		users = []string{only}
	}
	results := map[string]map[string]outcome{}
	for _, who := range users {
		rows, err := runAs(t, bin, who)
		if err != nil {
			t.Errorf("as %s: %v", who, err)
		}
		results[who] = rows
	}
	holes, tried := report(results)
	fmt.Printf("\n%d attempts, each as %s\n", tried, strings.Join(users, " and as "))
	if len(holes) > 0 {
		t.Errorf("%d holes: %s", len(holes), strings.Join(holes, ", "))
	}
}

// buildAll builds the programs of this module and puts the test binary beside them, where every user can read them.
func buildAll(t *testing.T) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "attack-bin-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmds, err := filepath.Glob("../../cmd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cmds {
		cmd := exec.Command("go", "build", "-o", dir+"/", "./"+filepath.Base(c))
		cmd.Dir = "../../cmd"
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("cannot build %s: %v\n%s", c, err, out)
		}
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "probe"), self, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runAs runs the host's side as root, or as an ordinary user.
func runAs(t *testing.T, bin, who string) (map[string]outcome, error) {
	dir, err := os.MkdirTemp("/tmp", "attack-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(filepath.Join(bin, "probe"), "outside", dir)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ATTACK_BIN="+bin)
	if who == "user" && os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err = cmd.Run()
	rows := map[string]outcome{}
	for line := range strings.Lines(out.String()) {
		var r row
		if json.Unmarshal([]byte(line), &r) == nil && r.ID != "" {
			rows[r.ID] = r.Outcome
		}
	}
	if err != nil {
		return rows, err
	}
	if len(rows) == 0 {
		return nil, errors.New("nothing was tried")
	}
	return rows, nil
}

// report prints the table, and names the holes.
func report(results map[string]map[string]outcome) (holes []string, tried int) {
	fmt.Printf("%-4s %-14s %-62s %-10s %-10s %s\n", "no.", "threat", "tried", "as root", "as user", "what happened")
	for _, a := range attempts() {
		var cells []string
		var texts []string
		n := 0
		for _, who := range []string{"root", "user"} {
			o, ok := results[who][a.id]
			if !ok {
				cells = append(cells, "-")
				continue
			}
			n++
			cells = append(cells, string(o.Verdict))
			if !contains(texts, o.Text) {
				texts = append(texts, o.Text)
			}
			if o.Verdict.bad() {
				holes = append(holes, fmt.Sprintf("%s as %s", a.id, who))
			}
		}
		if n > 0 {
			tried++
			fmt.Printf("%-4s %-14s %-62s %-10s %-10s %s\n", a.id, a.threat, a.what, cells[0], cells[1], strings.Join(texts, " | "))
		}
	}
	return holes, tried
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// wanted says whether an attempt was asked for.
func wanted(id string) bool {
	only := os.Getenv("ATTACK")
	if only == "" {
		return true
	}
	for part := range strings.SplitSeq(only, ",") {
		if strings.HasPrefix(id, part) {
			return true
		}
	}
	return false
}
