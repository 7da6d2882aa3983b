// Command bench measures the units of work that users feel, each beside the floor of this machine in the same run: what a
// bare process, a bare bubblewrap, a raw socket or a raw SQLite takes. Ratios travel between machines; figures do not.
//
// The agent it runs stamps the monotonic clock when it begins and ends, so that a turn's time splits into before the agent
// and after it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat/internal/netns"
)

// unit is one measurement.
type unit struct {
	name string
	run  func(*bench) error
}

var units = []unit{
	{"b1", (*bench).turnBare}, {"b2", (*bench).turnBoxed}, {"b4", (*bench).slots}, {"c", (*bench).toolCalls}, {"c4", (*bench).relayStart},
	{"d", (*bench).durable}, {"e", (*bench).idle}, {"f", (*bench).restart}, {"g", (*bench).create}, {"h", (*bench).decode},
	{"w1", (*bench).walls}, {"w2", (*bench).egress},
}

// bench is one run.
type bench struct {
	bin, self, dir string
	quick          bool
	missed         int
}

func main() {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case netns.Command:
			os.Exit(netns.Main(os.Args[2:]))
		case fetchCommand:
			os.Exit(fetchMain(os.Args[2]))
		}
	}
	var b bench
	only := flag.String("only", "", "units to measure, as in b1,d; default all")
	flag.StringVar(&b.bin, "substrat", "bin/substrat", "the binary to measure")
	flag.BoolVar(&b.quick, "quick", false, "few repetitions")
	flag.Parse()
	if err := b.all(*only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if b.missed > 0 {
		fmt.Printf("\n%d goals missed on this machine, now.\n", b.missed)
	}
}

// all measures what was asked for.
func (b *bench) all(only string) (err error) {
	if b.bin, err = filepath.Abs(b.bin); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "substrat-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	b.self = filepath.Join(b.dir, "agent", "cursor-agent")
	if err := buildAgent(b.self); err != nil {
		return err
	}
	fmt.Printf("%-44s %12s %12s %8s   %s\n", "unit", "floor", "substrat", "ratio", "goal")
	for _, u := range units {
		if only != "" && !slices.Contains(strings.Split(only, ","), u.name) {
			continue
		}
		if err := u.run(b); err != nil {
			return fmt.Errorf("%s: %w", u.name, err)
		}
	}
	return nil
}

// n is how often something is repeated.
func (b *bench) n(full int) int {
	if b.quick {
		return max(full/10, 5)
	}
	return full
}

// row prints one comparison. A goal of 0 is information only.
func (b *bench) row(name, floor, got string, ratio float64, goal string, ok bool) {
	verdict := ""
	if goal != "" {
		verdict = goal + " met"
		if !ok {
			verdict = goal + " MISSED"
			b.missed++
		}
	}
	r := ""
	if ratio > 0 {
		r = fmt.Sprintf("%.2f", ratio)
	}
	fmt.Printf("%-44s %12s %12s %8s   %s\n", name, floor, got, r, verdict)
}

// ms shows milliseconds.
func ms(v float64) string { return fmt.Sprintf("%.2f ms", v) }

// pct gives a percentile of unsorted figures.
func pct(v []float64, p float64) float64 {
	s := slices.Clone(v)
	slices.Sort(s)
	return s[min(len(s)-1, int(p*float64(len(s))))]
}
