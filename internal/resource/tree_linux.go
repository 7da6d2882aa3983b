package resource

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Tree lists the descendants of a process again and again, at the cost of reading the names in /proc and each new process
// once. The root has to be a subreaper (prctl), so that a descendant stays one when its parent ends.
type Tree struct {
	root int
	mu   sync.Mutex
	// known says of each process that has been seen whether it is a descendant.
	known map[int]bool
	calls int
}

// relearn is after how many calls everything is read anew: a pid of somebody else's can have become a descendant's.
const relearn = 16

// NewTree follows the descendants of root, without itself.
func NewTree(root int) *Tree { return &Tree{root: root} }

// Pids lists them. It can be called from several goroutines.
func (t *Tree) Pids() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	if t.calls++; t.known == nil || t.calls%relearn == 0 {
		t.known = map[int]bool{}
	}
	now, parents := make(map[int]bool, len(names)), map[int]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if ours, ok := t.known[pid]; ok {
			now[pid] = ours
		} else if parent, ok := parentOf(pid); ok {
			parents[pid] = parent
		}
	}
	for pid := range parents {
		now[pid] = t.descends(pid, now, parents)
	}
	t.known = now
	var pids []int
	for pid, ours := range now {
		if ours {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descends follows the parents up to one that is known. A chain cannot be longer than the number of its members, whatever
// happens while it is read.
func (t *Tree) descends(pid int, now map[int]bool, parents map[int]int) bool {
	for range len(parents) + 1 {
		parent, isNew := parents[pid]
		if !isNew {
			return now[pid]
		}
		if parent == t.root {
			return true
		}
		pid = parent
	}
	return false
}

// parentOf reads the fourth field of stat. The name before it can hold anything but ends with the last bracket.
func parentOf(pid int) (int, bool) {
	var buf [512]byte
	data := readProc(pid, "stat", buf[:])
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

// readProc reads a small file of a process, nothing where it is gone. It does without os.File: it is called for every
// process of a turn several times a second.
func readProc(pid int, name string, buf []byte) []byte {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	if err != nil || n < 0 {
		return nil
	}
	return buf[:n]
}

// threadsOf is what the kernel adds to the two links of a directory. A zombie still has its entry, and counts as one.
func threadsOf(pid int) int {
	var st unix.Stat_t
	if unix.Stat("/proc/"+strconv.Itoa(pid)+"/task", &st) != nil {
		return 0
	}
	return max(int(st.Nlink)-2, 0)
}

// residentOf gives the bytes in memory, and which part of them is of files and of shared memory: the kernel tells these two
// apart only in places that cost more.
func residentOf(pid int) (resident, shared int64) {
	var buf [128]byte
	fields := bytes.Fields(readProc(pid, "statm", buf[:]))
	if len(fields) < 3 {
		return 0, 0
	}
	page := int64(os.Getpagesize())
	resident, _ = strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ = strconv.ParseInt(string(fields[2]), 10, 64)
	return resident * page, shared * page
}

// proportional gives what a process holds of memory that is no file's, each page divided by the number of processes
// that share it. The kernel walks the process's page tables for it.
func proportional(pid int) (anonymous, shmem int64, ok bool) {
	var buf [2048]byte
	for line := range strings.Lines(string(readProc(pid, "smaps_rollup", buf[:]))) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "Pss_Anon":
			anonymous, ok = n<<10, true
		case "Pss_Shmem":
			shmem = n << 10
		}
	}
	return anonymous, shmem, ok
}
