package record

import (
	"errors"
	"math"
	"os"
	"path/filepath"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// endless is for what must not be refused: how a turn ended.
const endless = math.MaxInt64

// Turn gives the turn of an id with the calls it made, nil if it is not the last one.
func (l *Log) Turn(id string) *agentcli.PastTurn {
	if l.turn == nil || l.turn.ID != id {
		return nil
	}
	return l.turn
}

// End gives how the turn of an id ended, nil if it has not.
func (l *Log) End(id string) *End {
	if l.Turn(id) == nil {
		return nil
	}
	return l.end
}

// Mark gives how far the daemon got with the turn's last process, nil if there was none.
func (l *Log) Mark() *Mark { return l.mark }

// Begin adds a turn. One before it that did not end was given up.
func (l *Log) Begin(t agentcli.PastTurn) error {
	t.Calls = nil
	return l.append(entry{Turn: &t}, MaxBytes/2, true)
}

// Note says how far the daemon got. It is not synced.
func (l *Log) Note(m Mark) error { return l.append(entry{Mark: &m}, endless, false) }

// Call finds a call of the open turn, nil if it was not made.
func (l *Log) Call(id string) *agentcli.Call {
	if l.turn == nil {
		return nil
	}
	for i := range l.turn.Calls {
		if l.turn.Calls[i].ID == id {
			return &l.turn.Calls[i]
		}
	}
	return nil
}

// Add adds a call with its answer to the open turn.
func (l *Log) Add(c agentcli.Call) error {
	switch {
	case l.turn == nil || l.end != nil:
		return substrat.Errorf(substrat.CodeInternal, "cannot record a call: no turn is open")
	case l.Call(c.ID) != nil:
		return substrat.Errorf(substrat.CodeInternal, "cannot record call %.80q twice", c.ID)
	case len(l.turn.Calls) >= MaxCalls:
		return substrat.Errorf(substrat.CodeLimit, "cannot make another call: the turn has made %d, which is the limit", MaxCalls).
			WithHint("end the turn and go on in the next")
	}
	return l.append(entry{Call: &c}, MaxBytes, true)
}

// Finish ends the open turn. A checkpoint takes the place of everything before.
func (l *Log) Finish(e End) error {
	if l.turn == nil || l.end != nil {
		return substrat.Errorf(substrat.CodeInternal, "cannot record the end of a turn: none is open")
	}
	state := e.Result.Checkpoint
	if !e.Own || e.Outcome != substrat.Completed || len(state) == 0 {
		return l.append(entry{End: &e}, endless, true)
	}
	return l.replace(entry{State: state, Settled: l.turn.ID, Last: &e})
}

// replace makes a record of one entry the record, all at once.
func (l *Log) replace(e entry) error {
	tmp, err := os.OpenFile(l.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return storage("begin anew", err)
	}
	anew := &Log{path: l.path, file: tmp}
	err = anew.append(e, MaxBytes/4, true)
	if err == nil {
		err = os.Rename(tmp.Name(), l.path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(l.path))
	}
	if err != nil {
		return errors.Join(storage("begin anew", err), tmp.Close())
	}
	_ = l.file.Close() // the old one, which has no name any more
	*l = *anew
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return storage("sync the directory of", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return storage("sync the directory of", err)
	}
	return nil
}

// Checkpoint gives the state that stands for everything before the history, nil if there is none.
func (l *Log) Checkpoint() []byte { return l.state }

// History gives the turns since the checkpoint that the program ended itself, one at a time.
func (l *Log) History(yield func(agentcli.PastTurn) error) error {
	var t *agentcli.PastTurn
	return scan(l.file, func(e entry, _ int64) error {
		switch {
		case e.Turn != nil:
			t = e.Turn
		case e.Call != nil && t != nil:
			t.Calls = append(t.Calls, *e.Call)
		case e.End != nil && t != nil:
			past := *t
			t = nil
			if !e.End.Own {
				return nil
			}
			if e.End.Result.Outcome == substrat.Completed {
				past.Done = &e.End.Result.Text
			} else {
				past.Failed = &e.End.Result.Detail
			}
			return yield(past)
		}
		return nil
	})
}
