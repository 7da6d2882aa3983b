package resource

import (
	"fmt"
	"strings"

	"substrat.dev/substrat"
)

// Limits bounds one turn, or all turns below an agent. Zero is no bound.
type Limits struct {
	// Memory is in bytes: what the processes hold, with what a cgroup charges to them besides (page cache that cannot
	// be given back, files in tmpfs).
	Memory int64 `json:"memory,omitempty"`
	// Processes counts threads too, as the kernel does.
	Processes int `json:"processes,omitempty"`
	// CPUPercent is 100 for one core. Only cgroups can bound it.
	CPUPercent int `json:"cpu_percent,omitempty"`
	// CPUWeight, 1 to 10000 and 100 where it is zero, divides the cores among those who want them. Cgroups only.
	CPUWeight int `json:"cpu_weight,omitempty"`
	// OpenFiles and FileSize (bytes) are of each process.
	OpenFiles int   `json:"open_files,omitempty"`
	FileSize  int64 `json:"file_size,omitempty"`
	// Disk is of the turn alone; groups do not bound it.
	Disk []DiskLimit `json:"disk,omitempty"`
}

// DiskLimit bounds what lies below Path.
type DiskLimit struct {
	Path string `json:"path"`
	// What is the word for it in texts: "workspace", "home".
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
	// Growth counts only what is added while the turn runs. Otherwise all of it counts, whoever wrote it.
	Growth bool `json:"growth,omitempty"`
}

// Check says whether the numbers make sense.
func (l Limits) Check() error {
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"memory", l.Memory}, {"processes", int64(l.Processes)}, {"cpu_percent", int64(l.CPUPercent)},
		{"cpu_weight", int64(l.CPUWeight)}, {"open_files", int64(l.OpenFiles)}, {"file_size", l.FileSize},
	} {
		if n.value < 0 {
			return substrat.Errorf(substrat.CodeInvalid, "cannot use the limit %s = %d: it is negative", n.name, n.value).
				WithHint("leave it out, or set 0, for no limit")
		}
	}
	if l.CPUWeight > 10000 {
		return substrat.Errorf(substrat.CodeInvalid, "cannot use the limit cpu_weight = %d: the most is 10000", l.CPUWeight)
	}
	for _, d := range l.Disk {
		if d.Bytes < 0 || !strings.HasPrefix(d.Path, "/") || d.What == "" {
			return substrat.Errorf(substrat.CodeInvalid, "cannot use the limit of the disk for %q: it needs an absolute path, a name and a size that is not negative", d.Path)
		}
	}
	return nil
}

// TmpBytes is the size for each private tmpfs (/tmp, /dev/shm): a quarter of the memory, since what lies there is memory.
// Without cgroups nobody counts it as the turn's, so that there a turn can hold half as much again in its two tmpfs. Zero
// is the kernel's default.
func (l Limits) TmpBytes() int64 {
	if l.Memory == 0 {
		return 0
	}
	return min(max(l.Memory/4, 16<<20), 4<<30)
}

// Node is one step of the way from the root of a team to a turn. The last one is the turn.
type Node struct {
	// Name is unique among its siblings. Any text will do.
	Name   string `json:"name"`
	Limits Limits `json:"limits"`
	// Where tells a person where the limits are set; "substrat.toml: [resources]" where it is empty.
	Where string `json:"where,omitempty"`
}

// Reason is a bound that was hit.
type Reason struct {
	// What is "memory", "processes" or "disk: " with the word of the [DiskLimit].
	What string `json:"what"`
	// Of is the node whose bound it was, where that is not the turn itself.
	Of string `json:"of,omitempty"`
	// Limit and Used are bytes, or numbers of processes and threads. Limit is 0 where the machine itself was short.
	Limit int64 `json:"limit"`
	Used  int64 `json:"used"`
	// Text is for a person.
	Text string `json:"text"`
}

// The values of Reason.What that are not of a disk.
const (
	WhatMemory    = "memory"
	WhatProcesses = "processes"
)

const defaultWhere = "substrat.toml: [resources]"

func memoryReason(n Node, of string, limit, used int64) Reason {
	r := Reason{What: WhatMemory, Of: of, Limit: limit, Used: used}
	switch {
	case limit == 0:
		r.Text = fmt.Sprintf("the turn was ended: the kernel killed one of its processes because the machine ran out of memory; they had used %s", size(used))
	case of != "":
		r.Text = fmt.Sprintf("the turn was ended: it and the other turns below %s used all of the %s of memory that they share (limit in %s memory)", of, size(limit), where(n))
	case used <= limit:
		r.Text = fmt.Sprintf("the turn was ended: its processes used all of the %s of memory that they may have (limit in %s memory)", size(limit), where(n))
	default:
		r.Text = fmt.Sprintf("the turn was ended: its processes used %s of memory; the limit is %s (limit in %s memory)", size(used), size(limit), where(n))
	}
	return r
}

func processReason(n Node, of string, limit, used int64) Reason {
	r := Reason{What: WhatProcesses, Of: of, Limit: limit, Used: used}
	switch {
	case of != "":
		r.Text = fmt.Sprintf("the turn was ended: of the turns below %s, which share %d processes and threads, it had most when no more could be started (limit in %s processes)", of, limit, where(n))
	case used <= limit:
		r.Text = fmt.Sprintf("the turn was ended: it tried to have more than %d processes and threads (limit in %s processes)", limit, where(n))
	default:
		r.Text = fmt.Sprintf("the turn was ended: it had %d processes and threads; the limit is %d (limit in %s processes)", used, limit, where(n))
	}
	return r
}

func diskReason(d DiskLimit, used int64) Reason {
	r := Reason{What: "disk: " + d.What, Limit: d.Bytes, Used: used}
	if d.Growth {
		r.Text = fmt.Sprintf("the turn was ended: it added %s to its %s; the limit is %s (limit in %s %s)", size(used), d.What, size(d.Bytes), defaultWhere, d.What)
	} else {
		r.Text = fmt.Sprintf("the turn was ended: its %s holds %s; the limit is %s (limit in %s %s)", d.What, size(used), size(d.Bytes), defaultWhere, d.What)
	}
	return r
}

func where(n Node) string {
	if n.Where == "" {
		return defaultWhere
	}
	return n.Where
}

// size is n in the largest unit that leaves a number of at least one, with at most one decimal.
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + units[unit]
}
