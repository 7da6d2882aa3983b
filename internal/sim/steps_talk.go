package sim

import (
	"context"
	"fmt"
	"strings"
)

func (t *turn) talk(ctx context.Context, s step) error {
	if s.value.Kind() != '"' {
		t.failed++
		return t.say(ctx, fmt.Sprintf("The step %q needs a string.", s.kind))
	}
	if s.kind == "think" {
		return t.think(ctx, s.text("think"))
	}
	return t.say(ctx, s.text("text"))
}

// say adds text to the segment, in pieces the size of words.
func (t *turn) say(ctx context.Context, text string) error {
	for _, piece := range pieces(text, 1) {
		if err := t.textDelta(piece); err != nil {
			return err
		}
		if err := pause(ctx, t.chunk); err != nil {
			return err
		}
	}
	return nil
}

// think shows reasoning in pieces of a few words. Text before it belongs to a segment of its own.
func (t *turn) think(ctx context.Context, text string) error {
	t.sealText()
	if err := t.flush(beforeTool); err != nil {
		return err
	}
	for _, piece := range pieces(text, 4) {
		if err := t.thinkingDelta(piece); err != nil {
			return err
		}
		if err := pause(ctx, t.chunk); err != nil {
			return err
		}
	}
	t.draft.reasoning(text)
	return t.thinkingDone()
}

// maxPieces bounds how finely a text is cut: long ones go in larger pieces.
const maxPieces = 4096

// pieces cuts a text before spaces, so many words to a piece. Joined they are the text again.
func pieces(text string, words int) []string {
	words = max(words, strings.Count(text, " ")/maxPieces+1)
	var list []string
	for text != "" {
		end := 0
		for range words {
			next := strings.IndexByte(text[min(end+1, len(text)):], ' ')
			if next < 0 {
				end = len(text)
				break
			}
			end += 1 + next
		}
		list = append(list, text[:end])
		text = text[end:]
	}
	return list
}
