package sim

import (
	"crypto/rand"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// stream writes the lines of one turn in the shapes recorded from 2026.10, and keeps the text for the result. In the
// formats text and json it only keeps.
type stream struct {
	out     io.Writer
	live    bool // stream-json
	partial bool
	session string
	request string
	started time.Time

	segment strings.Builder // text since the last flush
	all     strings.Builder // every flushed segment; this is result.result
	last    string          // the last flushed segment

	call    modelCall
	fresh   bool // the next thing begins a model call of its own
	tools   int
	queries int
	written int64 // bytes of text, thinking and tool results, for the usage
}

// modelCall is one request to the model; what it brings forth shares its id.
type modelCall struct {
	step  int
	tools int
	id    string
	uuids [2]string
}

func newStream(out io.Writer, format string, partial bool, session string) *stream {
	return &stream{
		out: out, live: format == "stream-json", partial: partial, session: session,
		request: uuid.NewString(), started: time.Now(), fresh: true, call: modelCall{step: -1},
	}
}

// line writes one event. A consumer that is gone ends the turn.
func (s *stream) line(event object) error {
	if !s.live {
		return nil
	}
	if _, err := s.out.Write(append(appendJSON(nil, event), '\n')); err != nil {
		return fmt.Errorf("cannot write to stdout: %w", err)
	}
	return nil
}

func now() int64 { return time.Now().UnixMilli() }

func content(role, text string) object {
	return object{{"role", role}, {"content", []object{{{"type", "text"}, {"text", text}}}}}
}

func (s *stream) init(keySource, cwd, model string) error {
	return s.line(object{
		{"type", "system"}, {"subtype", "init"}, {"apiKeySource", keySource}, {"cwd", cwd},
		{"session_id", s.session}, {"model", model}, {"permissionMode", "default"},
	})
}

func (s *stream) user(prompt string) error {
	return s.line(object{{"type", "user"}, {"message", content("user", prompt)}, {"session_id", s.session}})
}

// enter begins a model call if the one before has had its tools' results.
func (s *stream) enter() {
	if !s.fresh {
		return
	}
	s.fresh = false
	s.call = modelCall{step: s.call.step + 1, uuids: [2]string{uuid.NewString(), uuid.NewString()}}
	s.call.id = s.request + "-" + strconv.Itoa(s.call.step) + "-" + tag()
}

// tag is the four characters a model call's id ends with.
func tag() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b[:])
}

func (s *stream) thinkingDelta(text string) error {
	s.enter()
	s.written += int64(len(text))
	return s.line(object{
		{"type", "thinking"}, {"subtype", "delta"}, {"text", text}, {"session_id", s.session}, {"timestamp_ms", now()},
	})
}

func (s *stream) thinkingDone() error {
	return s.line(object{{"type", "thinking"}, {"subtype", "completed"}, {"session_id", s.session}, {"timestamp_ms", now()}})
}

// textDelta adds to the segment, and shows the piece where partial output was asked for: with a timestamp only, the keys
// that set a delta apart from most flushes.
func (s *stream) textDelta(text string) error {
	s.enter()
	s.written += int64(len(text))
	s.segment.WriteString(text)
	if !s.partial || text == "" {
		return nil
	}
	return s.line(object{
		{"type", "assistant"}, {"message", content("assistant", text)}, {"session_id", s.session}, {"timestamp_ms", now()},
	})
}

// flushForm says before what a segment ends, which decides on the keys of its event.
type flushForm int

const (
	beforeTool  flushForm = iota // (a) model_call_id and timestamp_ms
	beforeQuery                  // (b) timestamp_ms only
	atEnd                        // (c) neither
)

// flush repeats the whole segment. Without partial output this is the text's only carrier.
func (s *stream) flush(form flushForm) error {
	text := s.segment.String()
	if text == "" {
		return nil
	}
	s.segment.Reset()
	s.all.WriteString(text)
	s.last = text
	event := object{{"type", "assistant"}, {"message", content("assistant", text)}, {"session_id", s.session}}
	if form == beforeTool {
		event = event.with(field{"model_call_id", s.call.id})
	}
	if form != atEnd {
		event = event.with(field{"timestamp_ms", now()})
	}
	return s.line(event)
}

// query writes a question and the answer that the program gives itself in print mode.
func (s *stream) query(name string, ask func(id int) object, answer object) error {
	if err := s.flush(beforeQuery); err != nil {
		return err
	}
	id := s.queries
	s.queries++
	reply := strings.TrimSuffix(name, "Query") + "Response"
	tail := []field{{"session_id", s.session}, {"timestamp_ms", now()}}
	request := object{
		{"type", "interaction_query"}, {"subtype", "request"}, {"query_type", name},
		{"query", object{{"id", id}, {name, ask(id)}}},
	}
	if err := s.line(request.with(tail...)); err != nil {
		return err
	}
	response := object{
		{"type", "interaction_query"}, {"subtype", "response"}, {"query_type", name},
		{"response", object{{"id", id}, {reply, answer}}},
	}
	return s.line(response.with(tail...))
}

// result ends the turn in whatever format was asked for.
func (s *stream) result(format string, promptBytes int) error {
	if err := s.flush(atEnd); err != nil {
		return err
	}
	took := time.Since(s.started).Milliseconds()
	event := object{
		{"type", "result"}, {"subtype", "success"}, {"duration_ms", took}, {"duration_api_ms", took},
		{"is_error", false}, {"result", s.all.String()}, {"session_id", s.session}, {"request_id", s.request},
		{"usage", s.usage(promptBytes)},
	}
	line := append(appendJSON(nil, event), '\n')
	if format == "text" {
		line = []byte(s.last + "\n")
	}
	if _, err := s.out.Write(line); err != nil {
		return fmt.Errorf("cannot write to stdout: %w", err)
	}
	return nil
}

// usage is made up of the bytes that went in and out, four to a token, so that it is the same each time.
func (s *stream) usage(promptBytes int) object {
	calls := int64(s.call.step + 1)
	return object{
		{"inputTokens", int64(promptBytes)/4 + 8192*calls},
		{"outputTokens", s.written/4 + 1},
		{"cacheReadTokens", 5888 * calls},
		{"cacheWriteTokens", 0},
	}
}
