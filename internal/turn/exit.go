package turn

import "time"

// Reason is why a turn's process is no more.
type Reason string

// The reasons. The first one to hold is the one recorded.
const (
	// Exited: the process ended by itself, or something outside killed it.
	Exited Reason = "exited"
	// Ended: the result was seen (Turn.End) and the process had to be ended after its grace.
	Ended Reason = "ended"
	// Cancelled: Turn.Cancel, or a SIGTERM to the shim.
	Cancelled Reason = "cancelled"
	// Wall and Silence: a limit of that name.
	Wall    Reason = "wall"
	Silence Reason = "silence"
	// Exceeded: it used more than its bounds allow. Exit.Err says of what.
	Exceeded Reason = "exceeded"
	// StartFailed: there never was a process of the agent. Exit.Err says why.
	StartFailed Reason = "start_failed"
	// ShimLost: the shim died without a record. How the process ended is not known.
	ShimLost Reason = "shim_lost"
)

// Exit is the final record of a turn, dir/exit.json.
type Exit struct {
	Reason Reason `json:"reason"`
	// Code is the exit code, -1 where a signal ended the process or none is known. Signal is its name, "SIGKILL". In
	// a sandbox bwrap reports a signal n as code 128+n, so an agent that itself exits with such a code counts as
	// signalled too.
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	// Err is for people: why the start failed, or what went wrong in the supervision.
	Err       string    `json:"err,omitempty"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// StdoutBytes and StderrBytes are the sizes of the files, DroppedBytes what of stdout is not in its file.
	StdoutBytes  int64 `json:"stdout_bytes"`
	DroppedBytes int64 `json:"dropped_bytes"`
	StderrBytes  int64 `json:"stderr_bytes"`
}
