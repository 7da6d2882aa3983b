package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"substrat.dev/substrat"
)

// The names in a turn's directory; see the package comment.
const (
	lockName   = "lock"
	ctlName    = "ctl"
	stdoutName = "stdout"
	stderrName = "stderr"
	statusName = "status.json"
	exitName   = "exit.json"
	logName    = "shim.log"
)

// status is dir/status.json: what Reap needs where the shim is lost. A pid counts only together with its start time
// and the boot it was seen in.
type status struct {
	V         int       `json:"v"`
	ID        string    `json:"id"`
	Boot      string    `json:"boot"`
	StartedAt time.Time `json:"started_at"`
	Sandboxed bool      `json:"sandboxed"`
	// Shim, Process and Init are the shim, what it started (bwrap or the agent), and pid 1 of the sandbox.
	Shim    process `json:"shim"`
	Process process `json:"process"`
	Init    process `json:"init,omitzero"`
	// PidNamespace is the inode of the sandbox's pid namespace.
	PidNamespace uint64 `json:"pid_namespace,omitempty"`
}

// writeJSON replaces a file at once: a reader sees the old one or the whole new one. It is not synced; after a power
// failure every process of the turn is gone, and a record that is missing or torn says the same.
func writeJSON(dir, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot encode %s: %w", name, err)
	}
	tmp := filepath.Join(dir, name+".tmp")
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return nil
}

func readJSON(dir, name string, v any) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", name, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("cannot read %s: %w", name, err)
	}
	return nil
}

// readExit gives the final record; ok is false where there is none, or a torn one.
func readExit(dir string) (exit Exit, ok bool) {
	err := readJSON(dir, exitName, &exit)
	return exit, err == nil && exit.Reason != ""
}

// lostExit makes up the record that a lost shim could not write.
func lostExit(dir string) Exit {
	e := Exit{Reason: ShimLost, Code: -1, Err: "the supervisor of the turn was lost", EndedAt: time.Now().UTC()}
	var st status
	if readJSON(dir, statusName, &st) == nil {
		e.StartedAt = st.StartedAt
	}
	e.StdoutBytes, e.StderrBytes = size(dir, stdoutName), size(dir, stderrName)
	return e
}

func size(dir, name string) int64 {
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	return info.Size()
}

// Remove deletes the directory of a turn that has ended. It refuses with code conflict while the turn lives. A
// directory that is not there is no error.
func Remove(dir string) error {
	held, err := lockHeld(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case held:
		return substrat.Errorf(substrat.CodeConflict, "cannot remove the turn in %s: it is alive", dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cannot remove the turn: %w", err)
	}
	return nil
}
