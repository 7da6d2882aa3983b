// Package resource bounds what one turn's processes, and all turns below an agent, take of the machine, and notices when
// a bound was hit.
//
//	Detect ─► Support ─Prepare─► groups below substrat-<instance>/g-<team>/g-<agent>/…/g-<turn>
//	                 └─Open─► Group: Fork (the process starts inside), Hit, Usage, Kill, Remove
//	NewWatch: what no group bounds (disk always; memory and processes where there are no cgroups) is measured
//
// Three mechanisms, the best that the machine offers: cgroup v2 where a subtree is delegated, cgroup v1 where its memory
// and pids hierarchies can be written, and otherwise rlimits with a [Watch]. The kernel enforces the first two; the
// third lets a process overshoot for as long as one sample takes, so [Support] says which one is in force and why.
//
// The package never starts a process, never ends a turn (it tells its [Watch]'s owner, who does) and never moves a process
// that is not the caller's own. The only files that it writes are those of cgroups. It knows neither turns nor sandboxes.
package resource
