package sim

import (
	"context"
	"strings"
	"time"
)

// shellTimeout is how long a command runs in the foreground, as recorded in the arguments of 2026.10.
const shellTimeout = 30 * time.Second

func (t *turn) shellStep(ctx context.Context, s step, command string) error {
	parsed := parseCommand(command)
	c, err := t.open("shell", "Shell")
	if err != nil {
		return err
	}
	limit := shellTimeout
	if d := s.millis("timeout_ms"); d > 0 {
		limit = d
	}
	c.description = s.text("description")
	if c.description == "" {
		c.description = "Run " + excerpt(command, 60)
	}
	if err := t.toolStarted(c, t.shellArgs(c, command, parsed, limit)); err != nil {
		return err
	}
	if !t.choice.rules.shell(parsed.commands) {
		return t.finish(c, rejectedShell(command, string(t.space)))
	}
	o, err := t.runShell(ctx, command, limit)
	if err != nil {
		return err
	}
	return t.finish(c, o)
}

func (t *turn) shellArgs(c *toolCall, command string, parsed parsedCommand, limit time.Duration) object {
	return object{
		{"command", command}, {"workingDirectory", ""}, {"timeout", limit.Milliseconds()}, {"toolCallId", c.id},
		{"simpleCommands", parsed.names()}, {"hasInputRedirect", parsed.input}, {"hasOutputRedirect", parsed.output},
		{"parsingResult", parsed.object()}, {"fileOutputThresholdBytes", "40000"}, {"isBackground", false},
		{"skipApproval", false}, {"timeoutBehavior", "TIMEOUT_BEHAVIOR_BACKGROUND"}, {"hardTimeout", 86400000},
		{"description", c.description}, {"closeStdin", true}, {"conversationId", t.session},
		{"adminCommandDenylist", []any{}}, {"requestId", t.request},
	}
}

func rejectedShell(command, dir string) outcome {
	o := failure("rejected", "Rejected: ",
		field{"command", command}, field{"workingDirectory", dir}, field{"reason", ""}, field{"isReadonly", false})
	o.rejected = true
	return o
}

// runShell waits for a command as long as the foreground lasts. One that takes longer goes on in the background until
// the program ends.
func (t *turn) runShell(ctx context.Context, command string, limit time.Duration) (outcome, error) {
	run, err := startShell(command, string(t.space), t.env)
	if err != nil {
		return failure("spawnError", err.Error(),
			field{"command", command}, field{"workingDirectory", ""}, field{"error", err.Error()}), nil
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-run.done:
		return run.outcome(command), nil
	case <-timer.C:
		t.shells = append(t.shells, run)
		o := failure("timeout", "The command is still running in the background.",
			field{"command", command}, field{"workingDirectory", ""}, field{"timeoutMs", limit.Milliseconds()})
		o.result = o.result.with(field{"isBackground", true})
		return o, nil
	case <-ctx.Done():
		run.kill()
		return outcome{}, context.Cause(ctx)
	}
}

func (r *shellRun) outcome(command string) outcome {
	code, signal := r.exit()
	took := r.took.Milliseconds()
	stdout, stderr := r.output()
	all := stdout + stderr // the order they really came in is lost with two pipes, and differs from run to run
	fields := object{
		{"command", command}, {"workingDirectory", ""}, {"exitCode", code}, {"signal", signal}, {"stdout", stdout},
		{"stderr", stderr}, {"executionTime", took}, {"interleavedOutput", all},
	}
	kind := "success"
	if code != 0 {
		kind = "failure"
		fields = fields.with(field{"aborted", false})
	}
	fields = fields.with(field{"localExecutionTimeMs", took})
	return outcome{
		result: object{{kind, fields}, {"isBackground", false}}, text: strings.TrimRight(all, "\n"), failed: code != 0,
	}
}
