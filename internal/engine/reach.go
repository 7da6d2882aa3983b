package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/door"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/turn"
)

// reach follows what the processes of an agent try to reach: every attempt goes into the agent's file, the first of its kind in a turn
// into the journal, and a host that no list names before a person.
type reach struct {
	r       *runner
	a       *attempt
	t       *turn.Turn
	process string
	dir     string // of the process
	from    int64
	seen    map[string]bool
	asked   sync.WaitGroup
}

// reachLine is one line of an agent's list of attempts.
type reachLine struct {
	Turn string `json:"turn,omitempty"`
	// Process and Next say up to where the process's own list was read.
	Process string `json:"process"`
	Next    int64  `json:"next"`
	door.Attempt
}

func (l *reachLine) view() substrat.Attempt {
	a := l.Attempt
	return substrat.Attempt{At: a.At, Turn: l.Turn, Host: a.Host, Port: a.Port, Via: a.Via, Verdict: a.Verdict, Why: a.Why, Address: a.Address, Up: a.Up, Down: a.Down, Count: a.Count}
}

// reachMost is when an agent's list is begun anew; the one before is kept.
const reachMost = 8 << 20

func (e *Engine) reachPath(agent string) string {
	return filepath.Join(e.cfg.Home, "agents", agent, "net.ndjson")
}

// followReach works until stop is called, which waits for it. dir is the process's own directory, process its name.
func (r *runner) followReach(ctx context.Context, a *attempt, t *turn.Turn, process, dir string) (stop func()) {
	if a.living.Network != substrat.NetworkDoor || a.agent.Sandbox != substrat.Bubblewrap {
		return func() {}
	}
	f := &reach{r: r, a: a, t: t, process: process, dir: dir, seen: map[string]bool{}}
	f.from = lastRead(r.e.reachPath(r.agent), process)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.run(ctx)
	}()
	return func() {
		cancel()
		<-done
		// What came last, as the process ended, counts too.
		f.read(context.WithoutCancel(ctx))
		f.asked.Wait()
	}
}

func (f *reach) run(ctx context.Context) {
	for {
		f.read(ctx)
		for _, ask := range f.t.TakeAsks() {
			f.asked.Go(func() { f.ask(ctx, ask) })
		}
		select {
		case <-f.t.NetChanged():
		case <-ctx.Done():
			return
		}
	}
}

// read takes over what is new in the process's list.
func (f *reach) read(ctx context.Context) {
	list, next, err := turn.Attempts(f.dir, f.from)
	if err != nil {
		f.r.e.cfg.Log.Warn("cannot read what a turn tried to reach", "turn", f.r.turn, "error", err)
	}
	if len(list) == 0 {
		return
	}
	note := team.NoteReach{Agent: f.r.agent, Turn: f.r.turn, Process: f.process}
	var lines bytes.Buffer
	for _, a := range list {
		line, err := json.Marshal(reachLine{Turn: f.r.turn, Process: f.process, Next: next, Attempt: a})
		if err != nil {
			continue
		}
		lines.Write(append(line, '\n'))
		if key := a.Host + "\x00" + strconv.Itoa(a.Port) + "\x00" + a.Verdict; !f.seen[key] {
			f.seen[key] = true
			note.Attempts = append(note.Attempts, team.Reach{Host: a.Host, Port: a.Port, Via: a.Via, Verdict: a.Verdict, Why: a.Why, Line: f.from})
			f.from++ // each has a place of its own, and none is at or beyond next: a line is longer than that
		}
	}
	if len(note.Attempts) > 0 {
		if _, err := f.r.e.Do(ctx, f.r.team, team.Meta{}, note); err != nil && substrat.CodeOf(err) != substrat.CodeTerminated && ctx.Err() == nil {
			f.r.e.cfg.Log.Warn("cannot note what a turn tried to reach", "turn", f.r.turn, "error", err)
		}
	}
	if err := appendReach(f.r.e.reachPath(f.r.agent), lines.Bytes()); err != nil {
		f.r.e.cfg.Log.Warn("cannot keep what a turn tried to reach", "turn", f.r.turn, "error", err)
	}
	f.from = next
}

func appendReach(path string, lines []byte) error {
	if st, err := os.Stat(path); err == nil && st.Size() > reachMost {
		if err := os.Rename(path, path+".1"); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Close())
}

// lastRead is up to where a process's list was read by a daemon before.
func lastRead(path, process string) int64 {
	lines, err := tailLines(path, 64<<10)
	if err != nil {
		return 0
	}
	for i := len(lines) - 1; i >= 0; i-- {
		var l reachLine
		if json.Unmarshal(lines[i], &l) == nil {
			if l.Process == process {
				return l.Next
			}
			return 0
		}
	}
	return 0
}

// tailLines gives the whole lines in the last bytes of a file.
func tailLines(path string, most int64) ([][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, st.Size()-most)
	data := make([]byte, st.Size()-from)
	n, err := f.ReadAt(data, from)
	if n < len(data) {
		return nil, err
	}
	lines := bytes.Split(data, []byte("\n"))
	if from > 0 {
		lines = lines[1:] // it may be cut
	}
	return lines[:len(lines)-1], nil
}

// ask puts a host before the person, and hands their word to the door. It counts for what comes when nobody waits any more.
func (f *reach) ask(ctx context.Context, h turn.HostAsk) {
	host := net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
	if h.Port == 443 || h.Port == 80 {
		host = h.Host
	}
	// The name of a host is a way out for what an agent knows.
	shown := f.r.e.secrets.Text(h.Host)
	input, _ := json.Marshal(map[string]any{"host": shown, "port": h.Port})
	id := askID(f.r.turn, "net", host)
	if _, err := f.r.e.Item(ctx, id); err != nil {
		meta := team.Meta{Actor: team.Actor{Agent: f.r.agent, Turn: f.r.turn}}
		_, err := f.r.e.Do(ctx, f.r.team, meta, team.AskInTurn{
			ID: id, Kind: substrat.ItemPermission, Text: fmt.Sprintf("%s wants to reach %s (port %d)", f.a.path, shown, h.Port),
			Options: []string{choiceAllow, choiceAlways, choiceDeny}, Default: choiceDeny, Tool: "network", Input: input,
		})
		if err != nil {
			f.decide(ctx, h, false)
			return
		}
	}
	x, err := f.r.e.awaitItem(ctx, id)
	if err != nil {
		return // the turn is over, or the daemon stops: the next one asks again
	}
	allow := x.Answer != nil && len(x.Answer.Choices) > 0 && x.Answer.Choices[0] != choiceDeny
	if allow && x.Answer.Choices[0] == choiceAlways {
		if _, err := f.r.e.Do(ctx, f.r.team, team.Meta{}, team.AllowHost{Agent: f.r.agent, Host: host}); err != nil {
			f.r.e.cfg.Log.Warn("cannot remember that a host is allowed", "agent", f.a.path, "host", host, "error", err)
		}
	}
	f.decide(ctx, h, allow)
}

func (f *reach) decide(ctx context.Context, h turn.HostAsk, allow bool) {
	if err := f.t.Decide(ctx, h, allow); err != nil && ctx.Err() == nil {
		f.r.e.cfg.Log.Warn("cannot tell the egress door", "turn", f.r.turn, "error", err)
	}
}

// Reach lists what an agent's processes tried to reach, oldest first, at most n of the last.
func (e *Engine) Reach(ref string, n int) ([]substrat.Attempt, error) {
	_, agent, err := e.resolve(ref)
	if err != nil {
		return nil, err
	}
	out := []substrat.Attempt{}
	for _, path := range []string{e.reachPath(agent) + ".1", e.reachPath(agent)} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, wrapIO("read what the agent tried to reach", err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var l reachLine
			if json.Unmarshal(lines.Bytes(), &l) == nil {
				if out = append(out, l.view()); n > 0 && len(out) > 2*n {
					out = append(out[:0:0], out[len(out)-n:]...)
				}
			}
		}
		err = errors.Join(lines.Err(), f.Close())
		if err != nil {
			return nil, wrapIO("read what the agent tried to reach", err)
		}
	}
	if n > 0 && len(out) > n {
		out = out[len(out)-n:]
	}
	return out, nil
}
