package cursor

import (
	"bytes"
	"strings"

	"substrat.dev/substrat/agentcli"
)

// textState puts the turn's text together, each piece once.
//
// Without partial output every assistant frame is text of its own. With it, text comes as deltas (timestamp_ms, no
// model_call_id), and each segment is then repeated whole by a flush: before a tool call (model_call_id), at the end of
// the turn (neither), or before an interaction query, where it looks like a delta. The rule below gives the result's text
// on every recording; see the wire facts of builds 2026.02 to 2026.10.
type textState struct {
	partial bool
	// all is the turn's text; segments counts its ended segments.
	all      strings.Builder
	segments int
	// acc is the text since the last boundary, deltas how many pieces it came in.
	acc    []byte
	deltas int
	// held is a piece equal to the one before it: a repetition, or the flush of a one-piece segment if an interaction
	// query or a retry comes next.
	held []byte
}

// reset forgets the text: the CLI starts the turn over.
func (t *textState) reset() {
	t.all.Reset()
	t.acc, t.deltas, t.held, t.segments = t.acc[:0], 0, nil, 0
}

// assistant handles one text frame.
func (d *Decoder) assistant(f *frame) error {
	t := &d.text
	text := messageText(f.message)
	if text == "" {
		return nil
	}
	if !t.partial {
		if f.timestamp == nil && f.modelCall == nil && t.repeatsAll(text) {
			return nil
		}
		if err := d.addText(text, f); err != nil {
			return err
		}
		return d.endSegment(f)
	}
	if f.modelCall != nil || f.timestamp == nil {
		return d.flush(text, f)
	}
	if string(t.acc) == text {
		if t.deltas >= 2 {
			return d.endSegment(f)
		}
		t.held = append(t.held[:0], text...)
		return nil
	}
	return d.addText(text, f)
}

// repeatsAll reports a closing frame that holds everything said so far, in more than one segment.
func (t *textState) repeatsAll(text string) bool {
	return t.segments >= 2 && t.all.String() == text
}

// flush handles the repetition of a segment: only what was not streamed is new.
func (d *Decoder) flush(text string, f *frame) error {
	t := &d.text
	all := t.all.String()
	switch {
	case len(t.acc) > 0 && strings.HasPrefix(text, string(t.acc)):
		text = text[len(t.acc):]
	case len(t.acc) > 0 && strings.HasPrefix(text, all):
		text = text[len(all):]
	case t.repeatsAll(text):
		text = ""
	}
	if err := d.addText(text, f); err != nil {
		return err
	}
	return d.endSegment(f)
}

// addText appends to the turn's text and emits the piece.
func (d *Decoder) addText(text string, f *frame) error {
	if text == "" {
		return nil
	}
	t := &d.text
	t.all.WriteString(text)
	t.acc = append(t.acc, text...)
	t.deltas++
	return d.send(agentcli.Event{Type: agentcli.EventText, Text: text, TimeMS: integer(f.timestamp), Raw: f.raw})
}

// endSegment closes the segment, if one is open.
func (d *Decoder) endSegment(f *frame) error {
	t := &d.text
	if len(t.acc) == 0 {
		return nil
	}
	t.acc, t.deltas = t.acc[:0], 0
	t.segments++
	return d.send(agentcli.Event{Type: agentcli.EventTextEnd, TimeMS: integer(f.timestamp)})
}

// resolveHeld decides about a held piece by what comes next.
func (d *Decoder) resolveHeld(next *frame) error {
	t := &d.text
	if len(t.held) == 0 {
		return nil
	}
	text := string(t.held)
	t.held = t.held[:0]
	if next.typ == "interaction_query" || next.typ == "retry" || next.typ == "connection" {
		return d.endSegment(next)
	}
	if next.typ == "assistant" && (next.modelCall != nil || next.timestamp == nil) && bytes.Equal(t.acc, []byte(messageText(next.message))) {
		// The flush that follows repeats the segment without the held piece: it was a flush itself.
		return nil
	}
	return d.addText(text, next)
}
