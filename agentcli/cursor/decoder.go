package cursor

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Decoder turns the lines of one stream-json stream into events. It is for one goroutine and one stream.
type Decoder struct {
	text textState
	// line is the frame being decoded; its values are good for that long.
	line frame
	// space is where the members of a tool call's result are put.
	space room
	// emit is the receiver of the line being decoded.
	emit   func(agentcli.Event) error
	offset int64

	result agentcli.Result
	files  map[string]struct{}
	// calls are the tool calls of the turn, for what their ends leave out; planned is the last plan told.
	calls   map[string]begun
	planned string
	// noise is the tail of what was not JSON.
	noise []byte
}

// NewDecoder makes a decoder. Partial says that the CLI was called with --stream-partial-output: without it every text
// is whole, with it texts are deltas that a flush repeats.
func NewDecoder(partial bool) *Decoder {
	return &Decoder{text: textState{whole: !partial}, files: map[string]struct{}{}}
}

// NewAutoDecoder makes a decoder for a stream of which it is not known whether it is partial: the frames tell.
func NewAutoDecoder() *Decoder { return NewDecoder(true) }

// noiseMost bounds the tail of noise, and noticeMost one notice.
const (
	noiseMost  = 64 << 10
	noticeMost = 4 << 10
)

// Result is what the stream told so far. Terminal says whether it is final.
func (d *Decoder) Result() agentcli.Result {
	r := d.result
	r.Text = d.text.all.String()
	return r
}

// Noise is the end of what was not JSON, at most 64 KiB: where a CLI that fails early says why.
func (d *Decoder) Noise() []byte { return d.noise[max(0, len(d.noise)-noiseMost):] }

// Skipped notes a line that was too long to read.
func (d *Decoder) Skipped(bytes, offset int64, emit func(agentcli.Event) error) error {
	if d.result.Terminal {
		return nil
	}
	return emit(agentcli.Event{Type: agentcli.EventNotice, Text: "a line of " + itoa(bytes) + " bytes was skipped", Offset: offset})
}

// Decode reads one line without its line end and emits what it says. The raw frames in the events are parts of line. An
// error is emit's; what is wrong with the line becomes a notice. After the terminal record nothing more is emitted.
func (d *Decoder) Decode(line []byte, offset int64, emit func(agentcli.Event) error) error {
	d.emit, d.offset = emit, offset
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
	for len(line) > 0 && !d.result.Terminal {
		n := d.line.read(line)
		if n < 0 {
			return d.notJSON(line)
		}
		if err := d.frame(&d.line); err != nil {
			return err
		}
		line = bytes.TrimSpace(line[n:])
	}
	return nil
}

// notJSON keeps a line, or the rest of one, that is no JSON object.
func (d *Decoder) notJSON(line []byte) error {
	d.noise = append(append(d.noise, line[:min(len(line), noiseMost)]...), '\n')
	if len(d.noise) > 2*noiseMost {
		d.noise = append(d.noise[:0], d.noise[len(d.noise)-noiseMost:]...)
	}
	text := strings.ToValidUTF8(string(line[:min(len(line), noticeMost)]), "\uFFFD")
	return d.send(agentcli.Event{Type: agentcli.EventNotice, Text: text})
}

func (d *Decoder) send(e agentcli.Event) error {
	e.Offset = d.offset
	return d.emit(e)
}

// frame emits what one frame says.
func (d *Decoder) frame(f *frame) error {
	if err := d.resolveHeld(f); err != nil {
		return err
	}
	switch f.typ {
	case "assistant":
		return d.assistant(f)
	case "thinking":
		return d.thinking(f)
	case "tool_call":
		return d.toolCall(f)
	case "system":
		return d.system(f)
	case "user":
		return d.send(agentcli.Event{Type: agentcli.EventUser, Text: messageText(f.message), TimeMS: integer(f.timestamp), Raw: f.raw})
	case "interaction_query":
		return d.query(f)
	case "connection", "retry":
		return d.retry(f)
	case "result":
		return d.terminal(f)
	case "error":
		return d.send(agentcli.Event{Type: agentcli.EventNotice, Text: firstText(f.errorText, f.message, f.text), Raw: f.raw})
	default:
		return d.unknown(f)
	}
}

// unknown keeps what is not known, and the tokens that it tells of.
func (d *Decoder) unknown(f *frame) error {
	if u := usage(f.usage); u != nil {
		return d.send(agentcli.Event{Type: agentcli.EventUsage, Usage: u, TimeMS: integer(f.timestamp), Raw: f.raw})
	}
	return d.send(agentcli.Event{Type: agentcli.EventNotice, Text: strings.TrimSpace("unknown frame " + f.typ + " " + f.subtype), Raw: f.raw})
}

func (d *Decoder) thinking(f *frame) error {
	e := agentcli.Event{Type: agentcli.EventThinking, TimeMS: integer(f.timestamp), Raw: f.raw}
	switch {
	case f.subtype == "completed":
		e.Type = agentcli.EventThinkEnd
	case f.text != nil:
		e.Text = str(f.text)
	default:
		e.Text = messageText(f.message)
	}
	return d.send(e)
}

func (d *Decoder) system(f *frame) error {
	switch f.subtype {
	case "init":
	case "task_notification", "background_shell_timeout":
		text := strings.TrimSpace(strings.ReplaceAll(f.subtype, "_", " ") + " " + firstText(f.text, f.message))
		return d.send(agentcli.Event{Type: agentcli.EventNotice, Text: text, TimeMS: integer(f.timestamp), Raw: f.raw})
	default:
		return d.unknown(f)
	}
	d.result.Session, d.result.Model = str(f.session), str(f.model)
	return d.send(agentcli.Event{Type: agentcli.EventSession, Session: d.result.Session, Model: d.result.Model, TimeMS: integer(f.timestamp), Raw: f.raw})
}

// retry tells that the CLI lost its connection or starts over. A start that resumes nothing voids the text so far.
func (d *Decoder) retry(f *frame) error {
	d.text.cut = len(d.text.acc)
	e := agentcli.Event{Type: agentcli.EventRetry, Text: f.typ + " " + f.subtype, TimeMS: integer(f.timestamp), Raw: f.raw}
	if f.typ == "retry" && f.subtype == "starting" && !boolean(f.isResume) {
		e.Reset = true
		d.text.reset()
		d.calls, d.planned = nil, ""
	}
	if n := integer(f.attempt); n > 0 {
		e.Text += ", attempt " + itoa(n)
	}
	return d.send(e)
}

// terminal ends the stream: one result event, whatever follows.
func (d *Decoder) terminal(f *frame) error {
	said := str(f.resultText)
	if d.text.all.Len() == 0 && said != "" && !failed(f) {
		if err := d.addText(said, f); err != nil {
			return err
		}
	}
	if err := errors.Join(d.settleText(said, f), d.endSegment(f)); err != nil {
		return err
	}
	r := &d.result
	r.Terminal, r.Outcome, r.DurationMS, r.Usage = true, substrat.Completed, integer(f.duration), usage(f.usage)
	if s := str(f.session); s != "" {
		r.Session = s
	}
	if failed(f) {
		r.Outcome, r.Detail = substrat.FailedTurn, firstText(f.resultText, f.errorText, f.message)
		r.Class, r.Detail = classify(r.Detail, substrat.ClassAgent)
	}
	for path := range d.files {
		r.Files = append(r.Files, path)
	}
	slices.Sort(r.Files)
	final := d.Result()
	return d.send(agentcli.Event{Type: agentcli.EventResult, Session: r.Session, Result: &final, Raw: f.raw})
}

// failed reports a result that says so itself.
func failed(f *frame) bool { return boolean(f.isError) || f.subtype != "" && f.subtype != "success" }

// finish ends a stream that broke off: what was held back is text after all.
func (d *Decoder) finish(emit func(agentcli.Event) error) error {
	if d.result.Terminal {
		return nil
	}
	d.emit = emit
	return errors.Join(d.resolveHeld(&frame{}), d.endSegment(&frame{}))
}
