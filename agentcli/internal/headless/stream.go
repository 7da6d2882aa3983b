package headless

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// noiseMost bounds the tail of noise, noticeMost one notice, filesMost the files of a turn kept by name, and callsMost the
// tool calls that wait for their end.
const (
	noiseMost  = 64 << 10
	noticeMost = 4 << 10
	filesMost  = 200
	callsMost  = 1000
)

// Stream is what a decoder knows of its turn: the text so far, the tool calls that run, the result. It is for one
// goroutine and one stream. Segments of text and of thinking are ended when something else comes.
type Stream struct {
	// Result is filled in by the decoder; its text is put together here.
	Result agentcli.Result
	// TimeMS is when the frame at hand happened, if it says.
	TimeMS int64

	frame    func(Object) error
	emit     func(agentcli.Event) error
	object   Object
	offset   int64
	raw      []byte
	text     strings.Builder
	open     bool
	thinking bool
	calls    map[string]*agentcli.ToolCall
	files    map[string]struct{}
	noise    []byte
}

// NewStream makes the state of a decoder, whose frames are given to frame.
func NewStream(frame func(Object) error) *Stream {
	return &Stream{frame: frame, calls: map[string]*agentcli.ToolCall{}, files: map[string]struct{}{}}
}

// Decode reads one line without its line end and emits what it says. The raw frames in the events are parts of line. An
// error is emit's; what is wrong with the line becomes a notice. After the terminal record nothing more is emitted.
func (s *Stream) Decode(line []byte, offset int64, emit func(agentcli.Event) error) error {
	s.emit, s.offset = emit, offset
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
	for len(line) > 0 && !s.Result.Terminal {
		var n int
		s.object, n = ParseObject(line, s.object)
		if n == 0 {
			return s.notJSON(line)
		}
		s.raw, s.TimeMS = line[:n], 0
		if err := s.frame(s.object); err != nil {
			return err
		}
		line = bytes.TrimSpace(line[n:])
	}
	return nil
}

// notJSON keeps a line, or the rest of one, that is no JSON object.
func (s *Stream) notJSON(line []byte) error {
	s.noise = append(append(s.noise, line[:min(len(line), noiseMost)]...), '\n')
	if len(s.noise) > noiseMost {
		s.noise = append(s.noise[:0], s.noise[len(s.noise)-noiseMost:]...)
	}
	s.raw, s.TimeMS = nil, 0
	return s.Send(agentcli.Event{Type: agentcli.EventNotice, Text: strings.ToValidUTF8(string(line[:min(len(line), noticeMost)]), "\uFFFD")})
}

// Noise is the end of what was not JSON, at most 64 KiB: where a CLI that fails early says why.
func (s *Stream) Noise() []byte { return s.noise }

// Skipped notes a line that was too long to read.
func (s *Stream) Skipped(size, offset int64, emit func(agentcli.Event) error) error {
	if s.Result.Terminal {
		return nil
	}
	return emit(agentcli.Event{Type: agentcli.EventNotice, Text: "a line of " + strconv.FormatInt(size, 10) + " bytes was skipped", Offset: offset})
}

// Finish ends a stream that broke off.
func (s *Stream) Finish(emit func(agentcli.Event) error) error {
	if s.Result.Terminal {
		return nil
	}
	s.emit, s.raw, s.TimeMS = emit, nil, 0
	return s.EndSegments()
}

// Turn is the result so far.
func (s *Stream) Turn() agentcli.Result {
	r := s.Result
	r.Text = s.text.String()
	r.Files = nil
	for path := range s.files {
		r.Files = append(r.Files, path)
	}
	slices.Sort(r.Files)
	return r
}

// Send emits an event of the frame at hand.
func (s *Stream) Send(e agentcli.Event) error {
	e.Offset, e.TimeMS, e.Raw = s.offset, s.TimeMS, s.raw
	return s.emit(e)
}

// Notice emits what is worth keeping and is nothing else.
func (s *Stream) Notice(text string) error {
	if len(text) > noticeMost {
		text = strings.ToValidUTF8(text[:noticeMost], "")
	}
	return s.Send(agentcli.Event{Type: agentcli.EventNotice, Text: text})
}

// Unknown notes a frame that the decoder does not know.
func (s *Stream) Unknown(words ...string) error {
	return s.Notice(strings.TrimSpace("unknown frame " + strings.Join(words, " ")))
}

// Session tells the session and the model, once for each.
func (s *Stream) Session(id, model string) error {
	if model != "" {
		s.Result.Model = model
	}
	if id == "" || id == s.Result.Session {
		return nil
	}
	s.Result.Session = id
	return s.Send(agentcli.Event{Type: agentcli.EventSession, Session: id, Model: s.Result.Model})
}

// Text appends to the turn's text.
func (s *Stream) Text(text string) error {
	if text == "" {
		return nil
	}
	if err := s.endThinking(); err != nil {
		return err
	}
	s.text.WriteString(text)
	s.open = true
	return s.Send(agentcli.Event{Type: agentcli.EventText, Text: text})
}

// HasText reports whether the turn has any text.
func (s *Stream) HasText() bool { return s.text.Len() > 0 }

// StartOver voids the text from a position on: what stood before it is told again, because a reset voids everything.
func (s *Stream) StartOver(from int, why string) error {
	keep := s.text.String()[:min(from, s.text.Len())]
	s.text.Reset()
	s.open, s.thinking = false, false
	if err := s.Send(agentcli.Event{Type: agentcli.EventRetry, Text: why, Reset: true}); err != nil {
		return err
	}
	if err := s.Text(keep); err != nil {
		return err
	}
	return s.EndSegments()
}

// Written is how long the turn's text is.
func (s *Stream) Written() int { return s.text.Len() }

// Think appends reasoning.
func (s *Stream) Think(text string) error {
	if text == "" {
		return nil
	}
	if err := s.endText(); err != nil {
		return err
	}
	s.thinking = true
	return s.Send(agentcli.Event{Type: agentcli.EventThinking, Text: text})
}

// EndSegments closes what is open.
func (s *Stream) EndSegments() error {
	if err := s.endText(); err != nil {
		return err
	}
	return s.endThinking()
}

func (s *Stream) endText() error {
	if !s.open {
		return nil
	}
	s.open = false
	return s.Send(agentcli.Event{Type: agentcli.EventTextEnd})
}

func (s *Stream) endThinking() error {
	if !s.thinking {
		return nil
	}
	s.thinking = false
	return s.Send(agentcli.Event{Type: agentcli.EventThinkEnd})
}

// Start emits the start of a tool call. A call that was started already is not started again.
func (s *Stream) Start(c agentcli.ToolCall) error {
	if _, running := s.calls[c.ID]; running {
		return nil
	}
	if err := s.EndSegments(); err != nil {
		return err
	}
	c.Status = agentcli.ToolRunning
	named(&c)
	if len(s.calls) < callsMost {
		kept := c
		s.calls[c.ID] = &kept
	}
	return s.Send(agentcli.Event{Type: agentcli.EventToolStart, Tool: &c})
}

// named sees to it that a call has a name and a kind, also one whose start was not told.
func named(c *agentcli.ToolCall) {
	if c.Name == "" {
		c.Name = "Tool"
	}
	if c.Kind == "" {
		c.Kind = "other"
	}
}

// Running gives a copy of a call that was started and not ended, and whether there is one.
func (s *Stream) Running(id string) (agentcli.ToolCall, bool) {
	c, ok := s.calls[id]
	if !ok {
		return agentcli.ToolCall{ID: id}, false
	}
	return *c, true
}

// End emits the end of a tool call.
func (s *Stream) End(c agentcli.ToolCall) error {
	if err := s.EndSegments(); err != nil {
		return err
	}
	delete(s.calls, c.ID)
	named(&c)
	s.Result.ToolCalls++
	if c.Status == agentcli.ToolOK && (c.Kind == "edit" || c.Kind == "delete") {
		for _, p := range c.Paths {
			if len(s.files) < filesMost {
				s.files[p] = struct{}{}
			}
		}
	}
	return s.Send(agentcli.Event{Type: agentcli.EventToolEnd, Tool: &c})
}

// Update emits what is known of a running call by now.
func (s *Stream) Update(c agentcli.ToolCall) error {
	return s.Send(agentcli.Event{Type: agentcli.EventToolUpdate, Tool: &c})
}

// Terminal ends the stream: one result event, whatever follows.
func (s *Stream) Terminal(outcome substrat.Outcome) error {
	if err := s.EndSegments(); err != nil {
		return err
	}
	s.Result.Terminal, s.Result.Outcome = true, outcome
	final := s.Turn()
	return s.Send(agentcli.Event{Type: agentcli.EventResult, Session: final.Session, Result: &final})
}
