//go:build attack && linux

package attack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
)

// The bounds of the bombs themselves: a machine that has no walls at all survives them. The limits that are configured for the
// run lie below.
const (
	forkMost  = 2000
	allocMost = 2 << 30
	fillMost  = 1 << 30
	openMost  = 60_000
	burnTime  = 12 * time.Second
)

// bomb is what runs inside: "inside bomb FACTS KIND [DIR]". It says how far it got, and stays a while at its height.
func bomb(args []string) int {
	say := func(format string, a ...any) { fmt.Printf(format+"\n", a...) }
	switch args[0] {
	case "fork":
		n := 0
		var last error
		for ; n < forkMost; n++ {
			cmd := exec.Command("/bin/sleep", "20")
			if last = cmd.Start(); last != nil {
				break
			}
			if n%100 == 0 {
				_ = os.WriteFile("bomb-height", []byte(itoa(n)), 0o644)
			}
		}
		_ = os.WriteFile("bomb-height", []byte(itoa(n)), 0o644)
		say("%d processes: %v", n, last)
		time.Sleep(6 * time.Second)
	case "memory":
		var all [][]byte
		for got := 0; got < allocMost; got += 32 << 20 {
			b, err := unix.Mmap(-1, 0, 32<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err != nil {
				say("%d MiB: %v", got>>20, err)
				break
			}
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			all = append(all, b)
			_ = os.WriteFile("bomb-height", []byte(itoa(got>>20)), 0o644)
		}
		time.Sleep(3 * time.Second)
		say("%d parts", len(all))
	case "disk":
		return fill(args[1], say)
	case "files":
		var last error
		n := 0
		for ; n < openMost; n++ {
			if _, last = unix.Open("/dev/null", unix.O_RDONLY, 0); last != nil {
				break
			}
		}
		_ = os.WriteFile("/tmp/x", nil, 0o644)
		say("HEIGHT %d files: %v", n, last)
	case "cpu":
		for range 8 {
			go func() {
				for x := 0; ; x++ { //nolint:staticcheck // it burns on purpose
					_ = x
				}
			}()
		}
		time.Sleep(burnTime)
	}
	return 0
}

// fill writes files of 32 MiB, with pauses in which a watcher may look.
func fill(dir string, say func(string, ...any)) int {
	dir = strings.Replace(dir, "~", os.Getenv("HOME"), 1)
	block := bytes.Repeat([]byte("attack disk "), 32<<20/12)
	for i := 0; i*len(block) < fillMost; i++ {
		path := filepath.Join(dir, "fill-"+itoa(i))
		if err := os.WriteFile(path, block, 0o644); err != nil {
			say("HEIGHT %d MiB: %v", i*32, err)
			break
		}
		_ = os.WriteFile("bomb-height", []byte(itoa((i+1)*32)), 0o644)
		time.Sleep(60 * time.Millisecond)
	}
	time.Sleep(3 * time.Second)
	return 0
}

// height is how far a bomb got.
func (w *world) height(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, "bomb-height"))
	if err != nil {
		return "nothing"
	}
	return string(data)
}

// explode has an agent of its own set a bomb off, and watches what it does to others. What the limit is judges.
func (w *world) explode(kind, dir string, judge func(height string, r receipt, out string) outcome) outcome {
	name := "bomb-" + kind
	if dir != "" {
		name += strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, dir)
	}
	place := filepath.Join(w.dir, name)
	must(os.MkdirAll(place, 0o755))
	must(copyFile(filepath.Join(w.bin, "probe"), filepath.Join(place, "probe")))
	w.create(substrat.NewAgent{Name: name, Dir: place})
	defer func() {
		w.end(name)
		_ = os.RemoveAll(place)
	}()
	must(os.WriteFile(filepath.Join(place, "facts.json"), []byte("{}"), 0o644))
	msg := w.send(name, script(step{"shell": "./probe inside bomb facts.json " + kind + " " + dir, "timeout_ms": 60_000}, step{"text": "{{last}}"}))
	soon(func() bool { return w.agent(name).Turn != "" })
	time.Sleep(1500 * time.Millisecond) // at its height
	during := w.pulse()
	r := w.waitAny(name, msg)
	out := ""
	if r.Turn != nil {
		out = r.Turn.Text + " " + string(r.Turn.Class) + " " + r.Turn.Detail
	}
	o := judge(w.height(place), r, out)
	if o.Verdict == refused && during > 2*w.usual && during > w.usual+time.Second {
		return was(hole, "%s; but a turn of another agent took %v instead of %v", o.Text, during.Round(time.Millisecond), w.usual.Round(time.Millisecond))
	}
	o.Text += fmt.Sprintf("; others' turns took %v (%v before)", during.Round(time.Millisecond), w.usual.Round(time.Millisecond))
	return o
}

// waitAny waits for the end of the first turn: a failed one is tried again by the mail that it put back, which is not waited for.
func (w *world) waitAny(name, msg string) (r receipt) {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if turns := w.turns(name); len(turns) > 0 && turns[0].EndedAt != nil {
			return receipt{Turn: &turns[0]}
		}
		if time.Now().After(deadline) {
			must(fmt.Errorf("the turn of %s does not end (message %s)", name, msg))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func below(limit int, unit string) func(height string, r receipt, out string) outcome {
	return func(height string, r receipt, out string) outcome {
		n := 0
		_, _ = fmt.Sscanf(height, "%d", &n)
		if n >= limit {
			return was(hole, "%d %s, and nothing stopped it", n, unit)
		}
		return was(refused, "stopped after %d %s: %s %.120s", n, unit, r.Turn.Outcome, firstLine(out))
	}
}

func bombs() []attempt {
	fills := func(dir string) func(w *world) outcome {
		return func(w *world) outcome { return w.explode("disk", dir, below(fillMost>>20, "MiB")) }
	}
	return []attempt{
		{id: "B01", threat: "T16", what: "a fork bomb", play: func(w *world) outcome { return w.explode("fork", "", below(forkMost, "processes")) }},
		{id: "B02", threat: "T16", what: "a memory hog", play: func(w *world) outcome { return w.explode("memory", "", below(allocMost>>20-32, "MiB")) }},
		{id: "B03", threat: "T16", what: "burn the processor with eight threads", play: func(w *world) outcome {
			return w.explode("cpu", "", func(string, receipt, string) outcome { return was(refused, "it burnt its share") })
		}},
		{id: "B04", threat: "T17", what: "fill the disk through the workspace", play: fills(".")},
		{id: "B05", threat: "T17", what: "fill the disk through the private home", play: fills("~")},
		{id: "B06", threat: "T17", what: "fill memory through /tmp", play: fills("/tmp")},
		{id: "B07", threat: "T17", what: "fill memory through /dev/shm", play: fills("/dev/shm")},
		{id: "B08", threat: "T17", what: "fill memory through /run or /var/tmp", play: fills("/var/tmp")},
		{id: "B09", threat: "T16", what: "exhaust open files", play: func(w *world) outcome {
			return w.explode("files", "", func(_ string, r receipt, out string) outcome {
				n := 0
				_, rest, _ := strings.Cut(out, "HEIGHT ")
				_, _ = fmt.Sscanf(rest, "%d", &n)
				if n >= openMost {
					return was(hole, "%d open files in one process, and nothing stopped it", n)
				}
				return was(refused, "stopped at %.60s", firstLine(rest))
			})
		}},
		{id: "B10", threat: "T16", what: "a thousand small turns' worth of zombies", play: func(w *world) outcome {
			w.turn("lead/attacker", step{"shell": "for i in $(seq 1 300); do (true &) ; done; true"})
			if n := zombies(); n > 20 {
				return was(hole, "%d zombies on the host", n)
			}
			return was(refused, "none is left on the host")
		}},
	}
}

func zombies() (n int) {
	list, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, p := range list {
		if data, err := os.ReadFile(p); err == nil && bytes.Contains(data, []byte(") Z ")) {
			n++
		}
	}
	return n
}
