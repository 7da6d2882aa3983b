package turn

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const canSandbox = true

// procStat is what the shim needs of /proc/<pid>/stat.
type procStat struct {
	process
	parent int
	state  byte // 'Z' for a zombie
}

// readStat reads one process. The name in it can hold anything, so fields are counted from its closing bracket.
func readStat(pid int) (procStat, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, err
	}
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(f) < 20 {
		return procStat{}, fmt.Errorf("cannot read /proc/%d/stat: it is too short", pid)
	}
	parent, err1 := strconv.Atoi(f[1])
	start, err2 := strconv.ParseUint(f[19], 10, 64)
	return procStat{process: process{pid, start}, parent: parent, state: f[0][0]}, errors.Join(err1, err2)
}

// identify gives a process with its start time; zero Start where it is gone.
func identify(pid int) process {
	st, err := readStat(pid)
	if err != nil {
		return process{PID: pid}
	}
	return st.process
}

func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// processTable lists all processes that can be seen.
func processTable() ([]procStat, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var table []procStat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if st, err := readStat(pid); err == nil {
			table = append(table, st)
		}
	}
	return table, nil
}

// descendants gives all below the roots, without them, parents before children.
func descendants(table []procStat, roots ...int) []procStat {
	children := map[int][]procStat{}
	for _, p := range table {
		children[p.parent] = append(children[p.parent], p)
	}
	var out []procStat
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			out = append(out, p)
			queue = append(queue, p.PID)
		}
	}
	return out
}

// openProcess gives a descriptor of exactly p: what it refers to can be signalled and waited for without any danger of
// meeting a later process of the same pid.
func openProcess(p process) (fd int, err error) {
	fd, err = unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return -1, err
	}
	if now := identify(p.PID); p.Start == 0 || now.Start != p.Start {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, nil
}

// signalProcess signals exactly p, and says whether it was there. Kernels before 5.3 have no pidfd; there the start
// time is checked and a moment remains.
func signalProcess(p process, sig unix.Signal) bool {
	fd, err := openProcess(p)
	if errors.Is(err, unix.ENOSYS) {
		return p.Start != 0 && identify(p.PID).Start == p.Start && unix.Kill(p.PID, sig) == nil
	}
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.PidfdSendSignal(fd, sig, nil, 0) == nil
}
