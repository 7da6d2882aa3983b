package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// walled is an agent behind walls, with the times of its turns: from the message to its main, and from its end to the result.
type walled struct {
	what          string
	network       substrat.Network
	before, after []float64
}

// walls measures what a turn costs behind all walls, with no network and with an egress door, beside a bare bubblewrap. All are
// measured in turns, so that they see the same machine.
func (b *bench) walls() error {
	d, _, err := b.start(b.home("w1"))
	if err != nil {
		return err
	}
	defer d.stop()
	floor := &walled{}
	agents := []*walled{{what: "all walls", network: substrat.NetworkNone}, {what: "and a door", network: substrat.NetworkDoor}}
	for _, a := range agents {
		if _, err := d.CreateAgent(d.ctx, substrat.NewAgent{Name: string(a.network), Provider: "cursor", Sandbox: substrat.Bubblewrap, Network: a.network}); err != nil {
			return err
		}
		if _, _, err := d.turn(string(a.network)); err != nil {
			return err
		}
	}
	for range b.n(200) {
		before, after, err := b.bareSplit(bwrapAlone(b.self)...)
		if err != nil {
			return err
		}
		floor.add(before, after)
		for _, a := range agents {
			time.Sleep(apart)
			if before, after, err = d.turn(string(a.network)); err != nil {
				return err
			}
			a.add(before, after)
		}
	}
	for _, a := range agents {
		b.beside("w1 "+a.what+", message → agent's main, p50", floor.before, a.before, 0.5)
		b.beside("w1                                   p99", floor.before, a.before, 0.99)
		b.beside("w1 "+a.what+", agent's end → result, p50", floor.after, a.after, 0.5)
		b.beside("w1                                   p99", floor.after, a.after, 0.99)
	}
	return nil
}

func (w *walled) add(before, after float64) {
	w.before, w.after = append(w.before, before), append(w.after, after)
}

// beside prints a percentile of both.
func (b *bench) beside(name string, floor, got []float64, p float64) {
	f, g := pct(floor, p), pct(got, p)
	b.row(name, ms(f), ms(g), g/f, "", true)
}

// bwrapAlone is a bubblewrap with a network of its own and nothing in it.
func bwrapAlone(agent string) []string {
	return []string{"bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", agent, agent, "--"}
}

// shim is the program that daemons use for shims, steps and relays.
func (b *bench) shim() string {
	small := filepath.Join(filepath.Dir(b.bin), "substrat-shim")
	if _, err := os.Stat(small); err != nil {
		return b.bin
	}
	return small
}

// shimRows print the memory of the shims that a daemon with one open turn has: one has the turn, the others wait.
func (b *bench) shimRows(d *daemon) {
	busy, spare := 0.0, 0.0
	for _, pid := range children(d.cmd.Process.Pid) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if words := strings.Split(string(line), "\x00"); len(words) < 2 || words[1] != "shim" {
			continue
		}
		_, pss, _ := memory(pid)
		if len(children(pid)) > 0 {
			busy = max(busy, pss)
		} else {
			spare = max(spare, pss)
		}
	}
	b.row("e1 shim of a turn, proportional memory", "", fmt.Sprintf("%.1f MB", busy), 0, "", true)
	b.row("e1 shim that waits", "", fmt.Sprintf("%.1f MB", spare), 0, "", true)
}

// children lists the processes that any thread of a process has started.
func children(pid int) (out []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for word := range strings.FieldsSeq(string(data)) {
			if n, err := strconv.Atoi(word); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}
