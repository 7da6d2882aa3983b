package main

import (
	"fmt"
	"os/exec"
	"slices"
	"time"

	"substrat.dev/substrat"
)

// bareRun runs the agent as a plain child, or under a wrapper.
func (b *bench) bareRun(wrap ...string) (float64, error) {
	before, after, err := b.bareSplit(wrap...)
	return before + after, err
}

// bareSplit does so too, and splits its time as that of a turn.
func (b *bench) bareSplit(wrap ...string) (before, after float64, err error) {
	argv := slices.Concat(wrap, []string{b.self, "-p", "--", "hello"})
	began := mono()
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	done := mono()
	if err != nil {
		return 0, 0, err
	}
	t0, t1, err := stamps(string(out))
	return float64(t0-began) / 1e6, float64(done-t1) / 1e6, err
}

// bwrapFloor is what a sandbox costs by itself: every namespace, and the mounts that a program needs to run. The network
// is shared, as it is for the provider that is measured.
func (b *bench) bwrapFloor() []string {
	return []string{"bwrap", "--unshare-all", "--share-net", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", b.self, b.self, "--"}
}

func (b *bench) turnBare() error {
	_, err := b.overhead("b1 turn overhead, no sandbox", substrat.NoSandbox, nil, func(f50, f99, g50, g99 float64) {
		b.row("b1 turn overhead, no sandbox, p50", ms(f50), ms(g50), g50/f50, "≤ floor + 3 ms", g50 <= f50+3)
		b.row("b1                            p99", ms(f99), ms(g99), g99/f99, "", true)
	})
	return err
}

func (b *bench) turnBoxed() error {
	starts, err := b.overhead("b2", substrat.Bubblewrap, b.bwrapFloor(), func(f50, f99, g50, g99 float64) {
		b.row("b2 turn overhead in bubblewrap, p50", ms(f50), ms(g50), g50/f50, "≤ 1.5 ×", g50 <= 1.5*f50)
		b.row("b2                              p99", ms(f99), ms(g99), g99/f99, "≤ 2 ×", g99 <= 2*f99)
	})
	if err != nil {
		return err
	}
	b.row("b3 message sent → agent's main, p50", "", ms(pct(starts, 0.5)), 0, "", true)
	return nil
}

// apart is the pause between two turns: a user's message comes to a daemon at rest. Without it the bench would measure how
// the start of the next spare shim and the turn share two cores.
const apart = 100 * time.Millisecond

// overhead measures floor and product alternately, so that both see the same machine.
func (b *bench) overhead(name string, box substrat.Sandbox, wrap []string, show func(f50, f99, g50, g99 float64)) ([]float64, error) {
	d, _, err := b.start(b.home(name[:2]))
	if err != nil {
		return nil, err
	}
	defer d.stop()
	if err := d.agent("a", box); err != nil {
		return nil, err
	}
	var floor, got, starts []float64
	for range b.n(200) {
		f, err := b.bareRun(wrap...)
		if err != nil {
			return nil, err
		}
		time.Sleep(apart)
		before, after, err := d.turn("a")
		if err != nil {
			return nil, err
		}
		floor, got, starts = append(floor, f), append(got, before+after), append(starts, before)
	}
	show(pct(floor, 0.5), pct(floor, 0.99), pct(got, 0.5), pct(got, 0.99))
	return starts, nil
}

// slots runs as many one-second turns as there are slots: they must take one second together.
func (b *bench) slots() error {
	const k = 4
	d, _, err := b.start(b.home("b4"), "--slots", fmt.Sprint(k))
	if err != nil {
		return err
	}
	defer d.stop()
	for i := range k {
		if err := d.agent(fmt.Sprintf("a%d", i), substrat.Bubblewrap); err != nil {
			return err
		}
	}
	began := time.Now()
	var ids []string
	for i := range k {
		sent, err := d.Send(d.ctx, fmt.Sprintf("a%d", i), "sleep=1000")
		if err != nil {
			return err
		}
		ids = append(ids, sent.MessageID)
	}
	for _, id := range ids {
		if _, err := d.Receipt(d.ctx, id); err != nil {
			return err
		}
	}
	took := time.Since(began).Seconds()
	b.row("b4 4 turns of 1 s on 4 slots", "1.00 s", fmt.Sprintf("%.2f s", took), took, "≤ 1.1 ×", took <= 1.1)
	return nil
}
