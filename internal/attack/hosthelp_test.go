//go:build attack && linux

package attack

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
)

// hostProcesses are those whose command line holds a text.
func hostProcesses(text string) (out []string) {
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range list {
		data, _ := os.ReadFile(p + "/cmdline")
		if bytes.Contains(data, []byte(text)) && filepath.Base(p) != itoa(os.Getpid()) {
			out = append(out, p)
		}
	}
	return out
}

// rss is what a process has in memory, in bytes.
func rss(pid int) int64 {
	data, _ := os.ReadFile("/proc/" + itoa(pid) + "/statm")
	var pages int64
	fields := bytes.Fields(data)
	if len(fields) > 1 {
		for _, c := range fields[1] {
			pages = pages*10 + int64(c-'0')
		}
	}
	return pages * int64(os.Getpagesize())
}

// runToolIn runs a shell command with a home.
func runToolIn(home, command string) (string, error) {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
