// Package turn runs one process per turn under supervision that outlives the daemon.
//
//	daemon ──Start──► shim (own session, holds dir/lock, serves dir/ctl) ──► bwrap ──► agent
//	   │                 │ stdout ─► dir/stdout   stderr ─► dir/stderr       or the agent itself
//	   └── Reader ◄── dir/stdout, "grew" and "exited" pushed over the socket
//
// A turn is a directory. [Start] makes it and starts the shim, a hidden command of the same executable ([ShimMain]); a
// later daemon finds the turn again with [Attach]. Whether a turn lives is decided by the lock on dir/lock alone, never
// by a pid. The shim enforces the limits, because the daemon may be dead, and records the end in dir/exit.json before
// it lets the lock go. When a turn has ended, nothing that it started lives; [Reap] sees to that where the shim itself
// was killed.
//
// Files of the directory (0700, files 0600): lock (the turn's id; flock'ed while the shim lives), ctl (unix socket,
// one JSON message per line, versioned), stdout (the raw bytes in order, capped as [Limits] say), stderr, status.json
// (pids, with what proves them), exit.json, shim.log. What to run, with its environment and prompt, goes to the shim over
// a socket and is never on disk, because it may hold secrets.
//
// The package knows nothing of providers, sandboxes (beyond how bwrap reports its inner processes) or the journal, and
// never interprets what a process prints.
package turn
