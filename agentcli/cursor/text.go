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
//
// The rule for partial output also reads a stream without it, for it takes away only what repeats the text since the last
// boundary. Without partial output nothing was said since the last boundary when a frame comes that can be a flush: the one
// form of whole text that looks like a delta stands directly before an interaction query, which is a boundary itself. So a
// decoder that does not know how the CLI was called goes by that rule, and needs neither to wait nor to look back.
type textState struct {
	// whole says that the CLI was surely called without partial output.
	whole bool
	// all is the turn's text; segments counts its ended segments.
	all      strings.Builder
	segments int
	// acc is the text since the last boundary, deltas how many pieces it came in.
	acc    []byte
	deltas int
	// cut is how much of acc came before the CLI lost its connection; it may then say the segment again from its start.
	// Only the flush, or the result, tells whether it did.
	cut int
	// forgotten counts how often text was taken back: it costs what all the text costs.
	forgotten int
	// held is a piece equal to the one before it: a repetition, or the flush of a one-piece segment if an interaction
	// query or a retry comes next.
	held []byte
}

// reset forgets the text: the CLI starts the turn over.
func (t *textState) reset() {
	t.all.Reset()
	t.acc, t.deltas, t.held, t.segments, t.cut = t.acc[:0], 0, t.held[:0], 0, 0
}

// assistant handles one text frame.
func (d *Decoder) assistant(f *frame) error {
	t := &d.text
	text := messageText(f.message)
	if text == "" {
		return nil
	}
	if t.whole {
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
	all, acc := t.all.String(), string(t.acc)
	switch {
	case acc == "":
		if t.repeatsAll(text) {
			text = ""
		}
	case text == acc:
		text = ""
	case len(all) > len(acc) && strings.HasPrefix(text, all):
		text = text[len(all):]
	case strings.HasPrefix(text, acc):
		text = text[len(acc):]
	case t.cut > 0 && t.cut < len(acc) && strings.HasPrefix(text, acc[t.cut:]):
		text = text[len(acc)-t.cut:]
		if err := d.forget(t.cut, f); err != nil {
			return err
		}
	}
	if err := d.addText(text, f); err != nil {
		return err
	}
	return d.endSegment(f)
}

// forgetMost bounds how often text is taken back in one turn.
const forgetMost = 32

// forget takes back the first n bytes of the open segment, which the CLI said again after a retry. As events are only ever
// added, the text is voided and told anew without them.
func (d *Decoder) forget(n int, f *frame) error {
	t := &d.text
	if t.forgotten++; t.forgotten > forgetMost {
		return nil
	}
	all := t.all.String()
	start := len(all) - len(t.acc)
	kept := all[:start] + all[start+n:]
	acc, deltas, segments := bytes.Clone(t.acc[n:]), t.deltas, t.segments
	if err := d.send(agentcli.Event{Type: agentcli.EventRetry, Text: "the text was said again", Reset: true, TimeMS: integer(f.timestamp), Raw: f.raw}); err != nil {
		return err
	}
	t.reset()
	if err := d.addText(kept, f); err != nil {
		return err
	}
	t.acc, t.deltas, t.segments = append(t.acc[:0], acc...), deltas, segments
	return nil
}

// settleText compares what was put together after a lost connection with the result: a segment that was open then, and
// never flushed, may have been said twice.
func (d *Decoder) settleText(said string, f *frame) error {
	t := &d.text
	if t.cut == 0 || t.cut >= len(t.acc) || said == "" {
		return nil
	}
	all := t.all.String()
	start := len(all) - len(t.acc)
	if said != all && len(said) >= start && said[:start] == all[:start] && said[start:] == all[start+t.cut:] {
		return d.forget(t.cut, f)
	}
	return nil
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
	t.acc, t.deltas, t.cut = t.acc[:0], 0, 0
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
