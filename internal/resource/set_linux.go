package resource

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// cpuPeriod is what CPU time is measured out in, in microseconds.
const cpuPeriod = 100_000

// orMax is a limit as cgroup v2 wants it.
func orMax(n int64) any {
	if n == 0 {
		return "max"
	}
	return n
}

// setV2 sets the limits of a group. It lifts those that are zero: a group of an agent can be older than its limits.
func (s Support) setV2(rel string, l Limits, leaf bool) error {
	dir := filepath.Join(s.root(""), rel)
	if s.has("memory") {
		if err := write(dir, "memory.max", orMax(l.Memory)); err != nil {
			return err
		}
		swap := any("max")
		if l.Memory != 0 {
			swap = 0
		}
		if err := optional(write(dir, "memory.swap.max", swap)); err != nil {
			return err
		}
		if leaf {
			// One process less helps nobody: the turn is ended anyhow.
			if err := optional(write(dir, "memory.oom.group", 1)); err != nil {
				return err
			}
		}
	}
	if s.has("pids") {
		if err := write(dir, "pids.max", orMax(int64(l.Processes))); err != nil {
			return err
		}
	}
	if !s.has("cpu") {
		return nil
	}
	quota := "max 100000"
	if l.CPUPercent != 0 {
		quota = fmt.Sprintf("%d %d", int64(l.CPUPercent)*cpuPeriod/100, cpuPeriod)
	}
	if err := optional(write(dir, "cpu.max", quota)); err != nil {
		return err
	}
	return optional(write(dir, "cpu.weight", weight(l)))
}

func weight(l Limits) int64 {
	if l.CPUWeight == 0 {
		return 100
	}
	return int64(l.CPUWeight)
}

func (s Support) setV1(rel string, l Limits, _ bool) error {
	if s.has("memory") {
		if err := setMemoryV1(filepath.Join(s.root("memory"), rel), l.Memory); err != nil {
			return err
		}
	}
	if s.has("pids") {
		if err := write(filepath.Join(s.root("pids"), rel), "pids.max", orMax(int64(l.Processes))); err != nil {
			return err
		}
	}
	if !s.has("cpu") {
		return nil
	}
	dir := filepath.Join(s.root("cpu"), rel)
	quota := int64(-1)
	if l.CPUPercent != 0 {
		quota = int64(l.CPUPercent) * cpuPeriod / 100
	}
	if err := optional(write(dir, "cpu.cfs_period_us", cpuPeriod)); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	// EINVAL: a group above allows less, and that holds for this one too.
	if err := optional(write(dir, "cpu.cfs_quota_us", quota)); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return optional(write(dir, "cpu.shares", max(weight(l)*1024/100, 2)))
}

// setMemoryV1 sets memory, and memory with swap to the same: the second may never be less than the first.
func setMemoryV1(dir string, limit int64) error {
	if limit == 0 {
		limit = -1
	}
	if err := optional(write(dir, "memory.memsw.limit_in_bytes", -1)); err != nil {
		return err
	}
	if err := write(dir, "memory.limit_in_bytes", limit); err != nil {
		return err
	}
	return optional(write(dir, "memory.memsw.limit_in_bytes", limit))
}

// optional is for files that a kernel need not have.
func optional(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
