package cursor

import (
	"bytes"
	"regexp"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Format is what the CLI was told to print.
type Format string

// The formats of --output-format.
const (
	FormatStream Format = "stream-json"
	FormatJSON   Format = "json" // one result object, at the end
	FormatText   Format = "text" // the final text only
)

// Detect tells the format of an output from its first bytes, a few KiB of them. A result with nothing before it is json;
// the decoder of streams takes that too.
func Detect(first []byte) Format {
	first = bytes.TrimPrefix(first, []byte("\ufeff"))
	for line := range bytes.Lines(first) {
		line = bytes.TrimSpace(line)
		var f frame
		switch n := f.read(line); {
		case n > 0 && f.typ == "result":
			return FormatJSON
		case n > 0 && f.typ != "":
			return FormatStream
		case n < 0 && len(line) > 0 && line[0] == '{' && len(first) > 0 && bytes.HasSuffix(bytes.TrimSpace(first), line):
			// The last line is cut off: the type of a frame is its first member in every build.
			if m := typeMember.FindSubmatch(line); m != nil && string(m[1]) == "result" {
				return FormatJSON
			} else if m != nil {
				return FormatStream
			}
		}
	}
	if m := typeMember.FindSubmatch(first); m != nil && string(m[1]) == "result" {
		return FormatJSON // written over several lines
	}
	return FormatText
}

// typeMember finds the type of an object that is not there whole.
var typeMember = regexp.MustCompile(`^\s*\{\s*"type"\s*:\s*"([a-z_]+)"`)

// DecodeJSON reads the output of --output-format json: one result object, perhaps with other lines around it. Without one
// the result is not terminal, and its detail is what was printed instead.
func DecodeJSON(data []byte) agentcli.Result {
	d := NewAutoDecoder()
	for line := range bytes.Lines(data) {
		_ = d.Decode(line, 0, drop)
	}
	if r := d.Result(); r.Terminal {
		return r
	}
	if r := decodeSpread(data); r.Terminal {
		return r
	}
	r := d.Result()
	r.Outcome = substrat.FailedTurn
	r.Class, r.Detail = classify(string(d.Noise()), substrat.ClassProtocol)
	return r
}

func drop(agentcli.Event) error { return nil }

// spreadMost bounds at how many places an object that is written over several lines is looked for.
const spreadMost = 16

// decodeSpread reads a result that is written over several lines.
func decodeSpread(data []byte) agentcli.Result {
	tries := 0
	for at := 0; at < len(data) && tries < spreadMost; {
		if data[at] == '{' {
			tries++
			d := NewAutoDecoder()
			if n := d.line.read(data[at:]); n > 0 && d.line.typ == "result" {
				_ = d.Decode(data[at:at+n], 0, drop)
				return d.Result()
			}
		}
		next := bytes.IndexByte(data[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return agentcli.Result{}
}

// chatter are the lines that the text format prints when the connection is lost.
var chatter = regexp.MustCompile(`^(Connection lost, reconnecting to \S+ \(attempt \d+\)\.\.\.|Reconnected\b.{0,40}|Retry attempt \d+\.\.\.)\s*$`)

// DecodeText reads the output of --output-format text. It has no record that ends it: the exit status says how it went.
func DecodeText(data []byte, exit agentcli.Exit) agentcli.Result {
	var kept []string
	for line := range strings.Lines(strings.ToValidUTF8(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\uFFFD")) {
		if !chatter.MatchString(strings.TrimRight(line, "\r\n")) {
			kept = append(kept, line)
		}
	}
	text := strings.TrimRight(strings.Join(kept, ""), "\r\n")
	r := agentcli.Result{Terminal: true, Outcome: substrat.Completed, Text: text}
	if exit.Code == 0 && exit.Signal == "" && strings.TrimSpace(text) != "" {
		return r
	}
	if len(exit.Stdout) == 0 {
		exit.Stdout = []byte(text[max(0, len(text)-noiseMost):])
	}
	r.Outcome, r.Text = substrat.FailedTurn, ""
	r.Class, r.Detail = New(Options{}).Diagnose(agentcli.Request{}, agentcli.Result{}, exit)
	return r
}
