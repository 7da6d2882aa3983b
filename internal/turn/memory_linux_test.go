package turn

import (
	"os"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// peakMemory is a process's largest resident size so far in kB, 0 where it is gone.
func peakMemory(pid string) int {
	data, _ := os.ReadFile("/proc/" + pid + "/status")
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kB, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")))
			return kB
		}
	}
	return 0
}
