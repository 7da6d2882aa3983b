// Package record keeps what a live program was asked, what it called and what it was answered, so that another process of
// it can be told and go on where the last one was.
//
// A record is one file, a JSON object on each line, only ever appended to and replaced whole at a checkpoint. What an
// effect depends on is synced before the call that added it returns; what only says how far the daemon had read is not,
// because a power failure that could lose it also ends the process it speaks of.
//
// The package owns the file and its format. It never runs a call, and never decides what became of a turn.
package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Bounds of a record. A program that comes near them is to make checkpoints. A turn begins only in the first half, so that it
// has room to end in.
const (
	MaxBytes = 256 << 20
	MaxCalls = 10_000
)

// End is how a turn ended. Own says that it was by the program's own word; only such turns are in its history: of one that
// was cut short the program keeps nothing, as if it had not been run.
type End struct {
	Outcome substrat.Outcome      `json:"outcome"`
	Class   substrat.FailureClass `json:"class,omitempty"`
	Detail  string                `json:"detail,omitempty"`
	Own     bool                  `json:"own,omitempty"`
	Result  agentcli.Result       `json:"result"`
}

// Mark says how far the daemon got with a process: it has read From bytes of what the process printed and written Tape bytes
// of transcript. Asked says that the process was given the turn.
type Mark struct {
	Process string `json:"process"`
	From    int64  `json:"from"`
	Tape    int64  `json:"tape"`
	Asked   bool   `json:"asked,omitempty"`
}

// entry is one line. Exactly one field is set, State beside Settled.
type entry struct {
	Turn  *agentcli.PastTurn `json:"turn,omitempty"`
	Call  *agentcli.Call     `json:"call,omitempty"`
	End   *End               `json:"end,omitempty"`
	Mark  *Mark              `json:"mark,omitempty"`
	State json.RawMessage    `json:"state,omitempty"`
	// Settled names the turn that made the checkpoint, whose outcome may not be in the journal yet.
	Settled string `json:"settled,omitempty"`
	// Last is how that turn ended.
	Last *End `json:"last,omitempty"`
}

func (e entry) empty() bool {
	return e.Turn == nil && e.Call == nil && e.End == nil && e.Mark == nil && e.State == nil
}

// Log is an open record. It is for one goroutine.
type Log struct {
	path string
	file *os.File
	size int64

	state json.RawMessage
	// turn is the last turn, with its calls; end is set when it is over, mark when a process was started for it.
	turn *agentcli.PastTurn
	end  *End
	mark *Mark
}

// Open reads a record, or makes an empty one. A last line that a power failure tore is cut off.
func Open(path string) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, storage("make the directory of", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, storage("open", err)
	}
	l := &Log{path: path, file: f}
	err = l.load()
	if err == nil && l.size == 0 {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

func (l *Log) load() error {
	good := int64(0)
	err := scan(l.file, func(e entry, end int64) error {
		l.take(e)
		good = end
		return nil
	})
	if err != nil {
		return err
	}
	if err := l.file.Truncate(good); err != nil {
		return storage("cut", err)
	}
	l.size = good
	return nil
}

// take folds one entry.
func (l *Log) take(e entry) {
	switch {
	case e.State != nil:
		l.state, l.turn, l.end, l.mark = e.State, nil, nil, nil
		if e.Settled != "" {
			l.turn, l.end = &agentcli.PastTurn{ID: e.Settled}, e.Last
		}
	case e.Turn != nil:
		l.turn, l.end, l.mark = e.Turn, nil, nil
	case e.Call != nil && l.turn != nil:
		l.turn.Calls = append(l.turn.Calls, *e.Call)
	case e.Mark != nil:
		l.mark = e.Mark
	case e.End != nil:
		l.end = e.End
	}
}

// scan reads entries until one that cannot be read. That is the end of the record if nothing of weight follows.
func scan(r io.ReaderAt, f func(e entry, end int64) error) error {
	lines := bufio.NewReaderSize(io.NewSectionReader(r, 0, 1<<62), 256<<10)
	at, torn := int64(0), int64(-1)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return storage("read", err)
		}
		if err != nil {
			return nil
		}
		begin := at
		at += int64(len(line))
		var e entry
		if json.Unmarshal(line, &e) != nil || e.empty() {
			if torn < 0 {
				torn = begin
			}
			continue
		}
		if torn >= 0 {
			if e.Mark != nil {
				continue
			}
			return substrat.Errorf(substrat.CodeStorage, "cannot read the record of a program: it is damaged at byte %d", torn).
				WithHint("create the agent anew; its past turns are in substrat log")
		}
		if err := f(e, at); err != nil {
			return err
		}
	}
}

// append adds an entry that is to fit into a size, and makes it durable where durable is set.
func (l *Log) append(e entry, most int64, durable bool) error {
	data, err := json.Marshal(e)
	if err != nil {
		return storage("encode", err)
	}
	data = append(data, '\n')
	if l.size+int64(len(data)) > most {
		return substrat.Errorf(substrat.CodeLimit, "cannot keep the record of the program: it is over %d MiB", most>>20).
			WithHint("let the program end a turn with a checkpoint now and then")
	}
	_, err = l.file.WriteAt(data, l.size)
	if err == nil && durable {
		err = l.file.Sync()
	}
	if err != nil {
		// What was written of it must not stay behind a shorter entry.
		return errors.Join(storage("write", err), l.file.Truncate(l.size))
	}
	l.size += int64(len(data))
	l.take(e)
	return nil
}

func storage(what string, err error) error {
	return substrat.Errorf(substrat.CodeStorage, "cannot %s the record of a program: %v", what, err)
}
