package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

// daemon is a running daemon with a client.
type daemon struct {
	*client.Client
	home string
	cmd  *exec.Cmd
	ctx  context.Context
}

// start runs a daemon on a home and waits until it lists its agents; took is how long that was.
func (b *bench) start(home string, args ...string) (d *daemon, took time.Duration, err error) {
	d = &daemon{home: home, ctx: context.Background(), Client: client.New(filepath.Join(home, "daemon.sock"))}
	d.cmd = exec.Command(b.bin, append([]string{"daemon", "run"}, args...)...)
	d.cmd.Env = append(os.Environ(), "SUBSTRAT_HOME="+home, "CURSOR_AGENT_PATH="+b.self)
	// What is measured is faster than agents may be.
	const rates = "[rates]\nagent_per_minute = 1000000000\nagent_burst = 1000000000\nteam_per_minute = 1000000000\nteam_burst = 1000000000\n"
	if err := errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(filepath.Join(home, "substrat.toml"), []byte(rates), 0o600)); err != nil {
		return nil, 0, err
	}
	began := time.Now()
	if err := d.cmd.Start(); err != nil {
		return nil, 0, err
	}
	for {
		if _, err := d.Agents(d.ctx, false); err == nil {
			return d, time.Since(began), nil
		}
		if time.Since(began) > time.Minute {
			d.stop()
			return nil, 0, fmt.Errorf("the daemon does not answer")
		}
		time.Sleep(500 * time.Microsecond)
	}
}

func (d *daemon) stop() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

func (b *bench) home(name string) string { return filepath.Join(b.dir, name) }

// agent creates an agent of the bench's kind and lets it make its session.
func (d *daemon) agent(name string, box substrat.Sandbox) error {
	if _, err := d.CreateAgent(d.ctx, substrat.NewAgent{Name: name, Provider: "cursor", Sandbox: box}); err != nil {
		return err
	}
	_, _, err := d.turn(name)
	return err
}

// turn sends a message and waits for its turn: milliseconds until the agent began, and from its end to the receipt.
func (d *daemon) turn(name string) (before, after float64, err error) {
	sentAt := mono()
	sent, err := d.Send(d.ctx, name, "hello")
	if err != nil {
		return 0, 0, err
	}
	r, err := d.Receipt(d.ctx, sent.MessageID)
	done := mono()
	if err != nil {
		return 0, 0, err
	}
	if r.Turn == nil || r.Turn.Outcome != substrat.Completed {
		return 0, 0, fmt.Errorf("the turn did not complete: %+v", r.Turn)
	}
	began, ended, err := stamps(r.Turn.Text)
	return float64(began-sentAt) / 1e6, float64(done-ended) / 1e6, err
}

// memory gives a process's resident and proportional memory in MB, and its open descriptors.
func memory(pid int) (rss, pss float64, fds int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(data)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "Rss: %f kB", &kb); n == 1 {
			rss = kb / 1024
		}
		if n, _ := fmt.Sscanf(line, "Pss: %f kB", &kb); n == 1 {
			pss = kb / 1024
		}
	}
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return rss, pss, len(list)
}
