//go:build attack && linux

package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// tryTime bounds one attempt inside.
const tryTime = 20 * time.Second

// insideMain tries what it is told to, each in a process of its own: a filter may end it. With "batch FACTS RESULTS IDS…" the
// results go to a file of the workspace; with "one FACTS ID" the outcome goes to standard output.
func insideMain(args []string) int {
	var f facts
	if len(args) > 1 {
		data, err := os.ReadFile(args[1])
		if err == nil {
			err = json.Unmarshal(data, &f)
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
	}
	switch {
	case args[0] == "one" && len(args) == 3:
		a, ok := find(args[2])
		if !ok || a.try == nil {
			return 1
		}
		_ = json.NewEncoder(os.Stdout).Encode(a.try(&f))
		return 0
	case args[0] == "batch" && len(args) > 3:
		return batch(args[1], args[2], args[3:])
	case args[0] == "bomb" && len(args) > 2:
		return bomb(args[2:])
	case args[0] == "helper" && len(args) > 2:
		return helper(&f, args[2:])
	}
	return 2
}

func batch(factsFile, results string, ids []string) int {
	out, err := os.Create(results)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer out.Close()
	enc := json.NewEncoder(out)
	for _, id := range ids {
		_ = enc.Encode(row{id, one(factsFile, id)})
	}
	fmt.Println(len(ids), "tried")
	return 0
}

func one(factsFile, id string) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), tryTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, selfPath(), "inside", "one", factsFile, id)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var o outcome
	if json.Unmarshal(bytes.TrimSpace(stdout.Bytes()), &o) == nil && o.Verdict != "" {
		return o
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			if ctx.Err() != nil {
				return was(refused, "nothing came of it in %v", tryTime)
			}
			return was(refused, "ended by %v", ws.Signal())
		}
	}
	return was(untried, "the attempt broke: %v %.300s", err, stderr.String())
}

// selfPath is this program inside: in the shared workspace.
func selfPath() string {
	p, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return p
}
