package sock

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
)

// walkTries bounds how often the way up from a process is begun anew because a process on it has ended meanwhile.
const walkTries = 20

// PeerWalled says whether the process at the other end can gain no new privileges, which cannot be undone and is so in every
// sandbox, and was started by a program that starts knows by its argv and that did not start this process too. A peer that
// has gone meanwhile is CodeForbidden.
func PeerWalled(c net.Conn, starts func(argv []string) bool) (bool, error) {
	pid, pidfd, err := peerProcess(c)
	if err != nil {
		return false, substrat.Errorf(substrat.CodeForbidden, "cannot tell which process is at the other end: %v", err)
	}
	defer unix.Close(pidfd)
	gone := func(err error) error {
		return substrat.Errorf(substrat.CodeForbidden, "cannot tell where the process at the other end runs: %v", err)
	}
	_, held, err := parentOf(pid)
	if err == nil {
		// What was read by its pid is the peer's only if the peer is still there.
		err = unix.PidfdSendSignal(pidfd, 0, nil, 0)
	}
	if err != nil {
		return false, gone(err)
	}
	if !held {
		return false, nil
	}
	above, err := line(os.Getpid())
	if err != nil {
		return false, gone(err)
	}
	theirs, err := line(pid)
	if err == nil {
		err = unix.PidfdSendSignal(pidfd, 0, nil, 0)
	}
	if err != nil {
		return false, gone(err)
	}
	for _, p := range theirs {
		if isIn(p, above[1:]) {
			break // from here up it is the way from this process too
		}
		argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		if starts(strings.Split(string(bytes.TrimSuffix(argv, []byte{0})), "\x00")) {
			return true, nil
		}
	}
	return false, nil
}

func isIn(pid int, list []int) bool {
	for _, p := range list {
		if p == pid {
			return true
		}
	}
	return false
}

// line is a process and those above it, as far as they can be seen. Where one of them ends meanwhile, those below it get
// another parent: the line is true only if nothing changed on the way.
func line(pid int) ([]int, error) {
	for range walkTries {
		out, whole, err := lineOnce(pid)
		if err != nil || whole {
			return out, err
		}
	}
	return nil, fmt.Errorf("what is above process %d changes all the time", pid)
}

func lineOnce(pid int) (out []int, whole bool, err error) {
	parents := map[int]int{}
	for at := pid; at > 0; at = parents[at] {
		up, _, err := parentOf(at)
		if err != nil && at == pid {
			return nil, false, err
		}
		if err != nil {
			break // it has ended, or is another user's and hidden; which, the second look tells
		}
		out = append(out, at)
		parents[at] = up
	}
	for _, at := range out {
		if up, _, err := parentOf(at); err != nil || up != parents[at] {
			return nil, false, nil
		}
	}
	return out, true, nil
}

// parentOf reads of a process what started it, and whether it can gain no new privileges.
func parentOf(pid int) (parent int, held bool, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false, err
	}
	for l := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(l, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "PPid":
			if parent, err = strconv.Atoi(value); err != nil {
				return 0, false, err
			}
		case "NoNewPrivs":
			held = value == "1"
		}
	}
	return parent, held, nil
}
