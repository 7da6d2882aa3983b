// Package demo is the team that `make demo` shows: a lead, a coder and a reviewer who mend a failing test in a small git
// repository, while the daemon is killed twice.
//
// It is a user like any other: everything it does is a `substrat` command, which it prints before it runs it. It checks
// its own result and fails if anything was lost, done twice or left behind. It writes nothing outside a directory of its
// own, which it removes.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Options say how to show the demo.
type Options struct {
	// JSON prints one line of JSON for each step and the result, instead of prose.
	JSON bool
	// NoCrash leaves the daemon alive.
	NoCrash bool
	Out     io.Writer
	Err     io.Writer
}

// Result is the last line of the demo in JSON.
type Result struct {
	Type        string   `json:"type"` // "demo.result"
	OK          bool     `json:"ok"`
	Turns       int      `json:"turns"`
	Messages    int      `json:"messages"`
	DaemonKills int      `json:"daemon_kills"`
	Lost        int      `json:"lost"`
	Duplicated  int      `json:"duplicated"`
	Orphans     int      `json:"orphans"`
	Seconds     float64  `json:"seconds"`
	Problems    []string `json:"problems,omitempty"`
}

// limit is how long the whole demo may take.
const limit = 3 * time.Minute

// Run shows the demo. The error says what did not hold.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	dir, err := os.MkdirTemp("", "substrat-demo-")
	if err != nil {
		return substrat.Errorf(substrat.CodeStorage, "cannot make a directory for the demo: %v", err)
	}
	defer os.RemoveAll(dir)
	exe, err := os.Executable()
	if err != nil {
		return substrat.Errorf(substrat.CodeInternal, "cannot find the substrat binary: %v", err)
	}
	s := &show{o: o, exe: exe, home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "calc")}
	started := time.Now()
	err = s.play(ctx)
	result := s.check(ctx)
	s.stop()
	result.Orphans = len(s.living())
	result.Seconds = float64(time.Since(started).Milliseconds()) / 1000
	if err != nil {
		result.Problems = append([]string{err.Error()}, result.Problems...)
	}
	result.OK = len(result.Problems) == 0 && result.Lost == 0 && result.Duplicated == 0 && result.Orphans == 0
	s.report(result)
	if !result.OK {
		return substrat.Errorf(substrat.CodeInternal, "the demo did not hold: %s", strings.Join(result.Problems, "; "))
	}
	return nil
}

func (s *show) report(r Result) {
	if s.o.JSON {
		data, _ := json.Marshal(r)
		fmt.Fprintln(s.o.Out, string(data))
		return
	}
	fmt.Fprintf(s.o.Out, "\n%d turns, %d messages, daemon killed %d times in %.1f s: %d lost, %d done twice, %d processes left.\n",
		r.Turns, r.Messages, r.DaemonKills, r.Seconds, r.Lost, r.Duplicated, r.Orphans)
	for _, p := range r.Problems {
		fmt.Fprintln(s.o.Out, "problem:", p)
	}
	if r.OK {
		fmt.Fprintln(s.o.Out, "The test passes, and the record agrees with what happened.")
	}
}
