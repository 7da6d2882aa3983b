package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// The texts of the real program's refusals, for hosts that class failures by them.
const (
	authText      = "Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY environment variable."
	quotaText     = "ActionRequiredError: You've hit your usage limit. Your usage limits will reset when your monthly cycle ends on 12/1/2026."
	rateLimitText = "Error: [resource_exhausted] Error"
	lockedText    = "Error: SQLITE_BUSY: database is locked"
	networkText   = "RetriableError: [unavailable] connect ETIMEDOUT 203.0.113.7:443"
	refusedText   = "RetriableError: [invalid_argument] Error"
)

// refusalFault gives the refusals, which print a text on stderr and end the program with 1.
func (a *app) refusalFault(kind, session string) error {
	switch kind {
	case "auth":
		return refuse(authText)
	case "quota":
		return refuse(quotaText)
	case "rate_limit":
		return refuse(rateLimitText)
	case "unknown_session":
		return unknownSession(session)
	case "bad_model":
		return badModel(cmp.Or(a.opts.model, "auto"))
	case "locked_store":
		return refuse(lockedText)
	case "config_race":
		file := a.conf.settingsFile()
		return refuse("Error: ENOENT: no such file or directory, rename '%s.tmp' -> '%s'", file, file)
	}
	return nil
}

// isEarly says whether the first step is this fault. As the first step, a refusal comes before the first line, where
// the real program has its checks; later it ends the turn where it stands.
func isEarly(scripts []script, kind string) bool {
	s, ok := firstStep(scripts)
	return ok && s.kind == "fault" && plainText(s.value) == kind
}

func firstStep(scripts []script) (step, bool) {
	if len(scripts) == 0 || len(scripts[0].steps) == 0 {
		return step{}, false
	}
	return scripts[0].steps[0], true
}

// earlyFault plays what comes before the first line: refusals, and a silence, exit or crash with "early":true.
func (a *app) earlyFault(ctx context.Context, scripts []script, session string) error {
	s, ok := firstStep(scripts)
	if !ok || s.kind != "fault" {
		return nil
	}
	kind := plainText(s.value)
	if err := a.refusalFault(kind, session); err != nil {
		return err
	}
	if !s.flag("early") {
		return nil
	}
	return a.endingFault(ctx, kind, s)
}

// endingFault gives the faults that end or stop the program without a word.
func (a *app) endingFault(ctx context.Context, kind string, s step) error {
	switch kind {
	case "no_result":
		return exit(exitOK)
	case "exit":
		return exit(int(s.number("code", exitRefused)))
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "hang":
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

// fault plays a fault in the middle of the turn.
func (t *turn) fault(ctx context.Context, s step) error {
	kind := plainText(s.value)
	if err := t.refusalFault(kind, t.session); err != nil {
		return err
	}
	if err := t.endingFault(ctx, kind, s); err != nil {
		return err
	}
	switch kind {
	case "hang", "exit", "no_result", "crash":
		return nil
	case "hang_after_result":
		t.hang = true
		return nil
	case "ignore_term":
		ignoreSignals()
		return nil
	case "fail_on_stop":
		<-ctx.Done()
		return errors.Join(t.line(object{
			{"type", "result"}, {"subtype", "error"}, {"is_error", true}, {"result", "the request was aborted"}, {"session_id", t.session},
		}), context.Cause(ctx))
	case "network":
		return t.disconnect(networkText)
	case "refused":
		return t.disconnect(refusedText)
	case "grandchild":
		return t.grandchild(s.number("seconds", 300))
	case "stderr_flood":
		return fill(t.stderr, s.number("bytes", 10<<20), strings.Repeat("warning: the simulator talks on stderr\n", 64))
	}
	return t.streamFault(kind, s)
}

// streamFault plays the faults that are wrong bytes on stdout.
func (t *turn) streamFault(kind string, s step) error {
	switch kind {
	case "torn_line":
		line := appendJSON(nil, object{{"type", "assistant"}, {"message", content("assistant", "This line is torn in two.")}})
		if _, err := t.out.Write(line[:len(line)/2]); err != nil {
			return err
		}
		return exit(exitOK)
	case "noise":
		return t.noise()
	case "long_line":
		return t.longLine(s.number("bytes", 100_000_000))
	case "flood":
		return t.flood(s.number("bytes", 10<<20))
	case "bad_utf8":
		return t.write("{\"type\":\"thinking\",\"subtype\":\"delta\",\"text\":\"bad \xff\xfe\xc3( bytes\",\"session_id\":\"" +
			t.session + "\",\"timestamp_ms\":" + strconv.FormatInt(now(), 10) + "}\n")
	}
	t.failed++
	t.segment.WriteString(fmt.Sprintf("I do not know the fault %q.", kind))
	t.spoke = true
	return nil
}

func (t *turn) write(text string) error {
	_, err := io.WriteString(t.out, text)
	return err
}

// noise is what has been seen between the lines: notices, an error printed bare, blank lines, and two events on one.
func (t *turn) noise() error {
	delta := func(text string) []byte {
		return appendJSON(nil, object{
			{"type", "thinking"}, {"subtype", "delta"}, {"text", text}, {"session_id", t.session}, {"timestamp_ms", now()},
		})
	}
	return t.write("Update available: 2026.10.02-0000000 (run 'agent update')\n\n" +
		"T: not everything here is JSON\n   \nnull\n[1,2]\n\"text\"\n" +
		string(delta("two ")) + " " + string(delta("on one line")) + "\n")
}

// longLine writes one event of about so many bytes, in pieces.
func (t *turn) longLine(bytes int64) error {
	if err := t.write(`{"type":"thinking","subtype":"delta","text":"`); err != nil {
		return err
	}
	if err := fill(t.out, bytes, strings.Repeat("x", 64<<10)); err != nil {
		return err
	}
	return t.write(`","session_id":"` + t.session + `","timestamp_ms":` + strconv.FormatInt(now(), 10) + "}\n")
}

func (t *turn) flood(bytes int64) error {
	piece := strings.Repeat("and so on ", 400)
	for sent := int64(0); sent < bytes; sent += int64(len(piece)) {
		if err := t.thinkingDelta(piece); err != nil {
			return err
		}
	}
	return t.thinkingDone()
}

// fill writes so many bytes of a pattern.
func fill(to io.Writer, bytes int64, pattern string) error {
	for bytes > 0 {
		n, err := io.WriteString(to, pattern[:min(int64(len(pattern)), bytes)])
		if err != nil {
			return fmt.Errorf("cannot write to the stream: %w", err)
		}
		bytes -= int64(n)
	}
	return nil
}

// disconnect plays three attempts to get the server's ear, in vain.
func (t *turn) disconnect(text string) error {
	endpoint := "https://api2.cursor.sh"
	for attempt := 1; attempt <= 3; attempt++ {
		if t.opts.format == "text" {
			if err := t.write(fmt.Sprintf("Connection lost, reconnecting to %s (attempt %d)...\nRetry attempt %d...\n", endpoint, attempt, attempt)); err != nil {
				return err
			}
		}
		tail := []field{{"session_id", t.session}, {"timestamp_ms", now()}}
		events := []object{
			object{{"type", "connection"}, {"subtype", "reconnecting"}}.with(tail...).with(field{"attempt", attempt}, field{"endpoint_url", endpoint}),
			object{{"type", "retry"}, {"subtype", "starting"}}.with(tail...).with(field{"attempt", attempt}, field{"is_resume", false}),
			object{{"type", "connection"}, {"subtype", "reconnected"}}.with(tail...),
		}
		for _, event := range events {
			if err := t.line(event); err != nil {
				return err
			}
		}
	}
	return refuse("%s", text)
}

// grandchild leaves a process behind that is in a session of its own, deaf to polite signals, and holds stdout open. It
// ends by itself in the end, for the sake of whoever runs the tests. The step waits until it is deaf: the child closes
// the pipe only after that.
func (t *turn) grandchild(seconds int64) error {
	deaf, mark, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot start the grandchild: %w", err)
	}
	defer deaf.Close()
	cmd := exec.Command("/bin/sh", "-c", `trap "" TERM HUP INT; exec sleep "$0" 3>&-`, strconv.FormatInt(seconds, 10))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = []*os.File{mark}
	if file, ok := t.stdout.(*os.File); ok {
		cmd.Stdout = file
	}
	err = cmd.Start()
	_ = mark.Close()
	if err != nil {
		return fmt.Errorf("cannot start the grandchild: %w", err)
	}
	_, _ = io.Copy(io.Discard, deaf)
	return cmd.Process.Release()
}
