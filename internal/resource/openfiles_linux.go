package resource

import (
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// removedFiles gives the bytes of files on dev that have no name any more but are still open in one of the processes:
// no walk finds them. Each counts once.
func removedFiles(pids []int, dev uint64) int64 {
	type file struct{ dev, ino uint64 }
	seen, total := map[file]bool{}, int64(0)
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid) + "/fd"
		d, err := os.Open(dir)
		if err != nil {
			continue
		}
		names, _ := d.Readdirnames(-1)
		d.Close()
		for _, name := range names {
			var st unix.Stat_t
			// The link leads to the open file itself; nothing is opened and no name followed.
			if unix.Stat(dir+"/"+name, &st) != nil || st.Nlink != 0 || st.Dev != dev || st.Mode&unix.S_IFMT != unix.S_IFREG {
				continue
			}
			if f := (file{st.Dev, st.Ino}); !seen[f] {
				seen[f] = true
				total += st.Blocks * 512
			}
		}
	}
	return total
}

// memoryFiles is the device of memfd_create and of shared memory without a name; 0 where the kernel has none.
var memoryFiles = sync.OnceValue(func() uint64 {
	fd, err := unix.MemfdCreate("probe", unix.MFD_CLOEXEC)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return st.Dev
})

// sharedOnMachine is what all files in memory take on the whole machine.
func sharedOnMachine() int64 { return readCount("/proc", "meminfo", "Shmem:") << 10 }
