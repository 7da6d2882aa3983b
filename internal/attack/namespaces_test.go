//go:build attack && linux

package attack

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const everything = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// nested runs a helper in a user namespace of the attacker's own, where it has every capability. Root may not map itself, and
// does without a map.
func nested(what string) func(*facts) outcome {
	return func(*facts) outcome {
		var all []uintptr
		for c := range uintptr(unix.CAP_LAST_CAP + 1) {
			all = append(all, c)
		}
		var out []byte
		var err error
		for _, mapped := range []bool{true, false} {
			cmd := exec.Command(selfPath(), "inside", "helper", "facts.json", what)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | everything, AmbientCaps: all}
			if mapped {
				cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
				cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
			}
			var exit *exec.ExitError
			if out, err = cmd.CombinedOutput(); err == nil || errors.As(err, &exit) {
				break
			}
			if !mapped {
				return was(refused, "no user namespace of its own: %v", errors.Unwrap(err))
			}
		}
		text := strings.TrimSpace(string(out))
		switch {
		case strings.HasPrefix(text, "HOLE "):
			return was(hole, "%s", text[5:])
		case strings.HasPrefix(text, "OWN "):
			return was(contained, "%s", text[4:])
		case err == nil:
			return was(refused, "in a user namespace of its own: %s", text)
		}
		return was(refused, "the helper ended: %v %.100s", err, text)
	}
}

// helper does, in a user namespace of its own, what nested is asked for.
func helper(f *facts, args []string) int {
	do, ok := helpers[args[0]]
	if !ok {
		fmt.Println("no such helper")
		return 1
	}
	fmt.Println(do(f))
	return 0
}

var helpers = map[string]func(f *facts) string{
	"remount":    helpRemount,
	"uncover":    helpUncover,
	"proc":       helpProc,
	"sys":        helpSys,
	"cgroup":     helpCgroup,
	"cover":      helpCover,
	"setns":      helpSetns,
	"mknod":      helpMknod,
	"handle":     func(f *facts) string { return saysOf(openByHandle(f)) },
	"netfilter":  helpNetfilter,
	"propagate":  helpPropagate,
	"setuid-map": helpMap,
}

func saysOf(o outcome) string {
	if o.Verdict == hole {
		return "HOLE " + o.Text
	}
	return o.Text
}

func helpRemount(f *facts) string {
	var last error
	for _, dir := range []string{"/usr", "/", "/etc", "/run/substrat/bin/substrat", filepath.Join(f.Shared, ".cursor"), "/run/substrat/sock"} {
		if last = unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND, ""); last == nil {
			return "HOLE " + dir + " was remounted for writing"
		}
	}
	return last.Error()
}

func helpUncover(f *facts) string {
	var last error
	for _, dir := range []string{filepath.Join(f.Shared, ".cursor"), "/proc/sys", "/tmp", "/run", "/usr", f.Shared} {
		if last = unix.Unmount(dir, unix.MNT_DETACH); last == nil {
			return "HOLE " + dir + " was unmounted"
		}
	}
	return last.Error()
}

func helpProc(*facts) string {
	_ = os.Mkdir("/tmp/p", 0o755)
	if err := unix.Mount("proc", "/tmp/p", "proc", 0, ""); err != nil {
		return "mount: " + err.Error()
	}
	for _, p := range []string{"/tmp/p/sys/kernel/core_pattern", "/tmp/p/sysrq-trigger", "/tmp/p/sys/kernel/modprobe"} {
		if file, err := os.OpenFile(p, os.O_WRONLY, 0); err == nil {
			_ = file.Close()
			return "HOLE " + p + " opens for writing"
		}
	}
	return "OWN a /proc of its own, where nothing of the machine can be written"
}

func helpSys(*facts) string {
	_ = os.Mkdir("/tmp/s", 0o755)
	if err := unix.Mount("sysfs", "/tmp/s", "sysfs", 0, ""); err != nil {
		return "mount: " + err.Error()
	}
	for _, p := range []string{"/tmp/s/kernel/uevent_helper", "/tmp/s/power/state", "/tmp/s/kernel/profiling"} {
		if file, err := os.OpenFile(p, os.O_WRONLY, 0); err == nil {
			_ = file.Close()
			return "HOLE " + p + " opens for writing"
		}
	}
	return "OWN a /sys of its own network namespace"
}

func helpCgroup(*facts) string {
	_ = os.Mkdir("/tmp/c", 0o755)
	var last error
	for _, how := range []struct{ kind, data string }{{"cgroup2", ""}, {"cgroup", "memory"}, {"cgroup", "pids"}, {"cgroup", "rdma"}, {"cgroup", "misc"}, {"cgroup", "none,name=systemd"}} {
		if last = unix.Mount("none", "/tmp/c", how.kind, 0, how.data); last != nil {
			continue
		}
		for _, p := range []string{"release_agent", "notify_on_release", "cgroup.procs"} {
			file, err := os.OpenFile("/tmp/c/"+p, os.O_WRONLY, 0)
			if err == nil {
				_ = file.Close()
				return "HOLE " + how.kind + " " + how.data + ": " + p + " opens for writing"
			}
			last = err
		}
		_ = unix.Unmount("/tmp/c", unix.MNT_DETACH)
	}
	return last.Error()
}

func helpCover(*facts) string {
	if err := unix.Mount("none", "/run", "tmpfs", 0, ""); err != nil {
		return err.Error()
	}
	return "OWN a mount over /run that only it sees"
}

func helpSetns(*facts) string {
	var last error
	for _, ns := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		fd, err := unix.Open("/proc/1/ns/"+ns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			last = err
			continue
		}
		// NS_GET_USERNS and NS_GET_PARENT give the namespaces above.
		for _, req := range []uintptr{0xb701, 0xb702} {
			if up, err := raw(unix.SYS_IOCTL, uintptr(fd), req, 0); err == nil {
				if unix.Setns(int(up), 0) == nil {
					return "HOLE joined a namespace above " + ns
				}
			} else {
				last = err
			}
		}
	}
	return last.Error()
}

func helpMknod(*facts) string {
	if err := unix.Mknod("/tmp/mem", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1))); err != nil {
		return err.Error()
	}
	if file, err := os.Open("/tmp/mem"); err == nil {
		_ = file.Close()
		return "HOLE /dev/mem was made and opened"
	}
	return "OWN a node that does not open"
}

func helpNetfilter(*facts) string {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)
	if err != nil {
		return err.Error()
	}
	_ = unix.Close(fd)
	return "OWN netfilter of a network namespace of its own can be spoken to"
}

func helpPropagate(f *facts) string {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return err.Error()
	}
	dir := filepath.Join(f.Shared, "propagated")
	_ = os.Mkdir(dir, 0o755)
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		return err.Error()
	}
	return "OWN a mount that is to be seen outside"
}

func helpMap(*facts) string {
	if err := os.WriteFile("/proc/1/uid_map", []byte("0 0 4294967295\n"), 0); err == nil {
		return "HOLE the map of the sandbox was written"
	}
	if err := unix.Setresuid(1, 1, 1); err == nil {
		return "HOLE became another user"
	}
	return "no other user can be had"
}

// namespaces are attempts on the namespaces the sandbox is made of.
func namespaces() []attempt {
	return []attempt{
		{id: "N01", threat: "T13", what: "mount, remount, unmount, pivot_root and chroot without a namespace of its own", try: func(f *facts) outcome {
			return allFail(map[string]error{
				"mount": unix.Mount("none", "/tmp", "tmpfs", 0, ""), "remount": unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, ""),
				"bind": unix.Mount("/", "/tmp", "", unix.MS_BIND, ""), "umount": unix.Unmount(filepath.Join(f.Shared, ".cursor"), unix.MNT_DETACH),
				"pivot_root": unix.PivotRoot(".", "."), "chroot": unix.Chroot("/tmp"), "fsopen": rawErr(unix.SYS_FSOPEN, ptr(&[]byte("tmpfs\x00")[0]), 0),
				"open_tree": rawErr(unix.SYS_OPEN_TREE, atFDCWD, ptr(&[]byte("/\x00")[0]), 1),
			})
		}},
		{id: "N02", threat: "T13", what: "unshare mount, pid, net, ipc, uts, cgroup, time without a user namespace", try: func(*facts) outcome {
			errs := map[string]error{}
			for name, flag := range map[string]int{"mnt": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID, "net": unix.CLONE_NEWNET, "ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME} {
				errs[name] = onThread(func() error { return unix.Unshare(flag) })
			}
			return allFail(errs)
		}},
		{id: "N03", threat: "T13", what: "join the namespaces of process 1 with setns", try: func(*facts) outcome {
			errs := map[string]error{}
			for _, ns := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
				fd, err := unix.Open("/proc/1/ns/"+ns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
				if err == nil {
					err = onThread(func() error { return unix.Setns(fd, 0) })
				}
				errs[ns] = err
			}
			return allFail(errs)
		}},
		{id: "N04", threat: "T13", what: "clone3 with CLONE_NEWUSER and CLONE_INTO_CGROUP", try: func(*facts) outcome {
			args := struct{ flags, pidfd, childTID, parentTID, exit, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64 }{flags: 0x200000000, exit: uint64(unix.SIGCHLD), cgroup: 0}
			if _, err := raw(unix.SYS_CLONE3, ptr(&args), 88); err == nil {
				return was(hole, "clone3 into a cgroup worked")
			} else {
				return was(refused, "%v", err)
			}
		}},
		{id: "N05", threat: "T13", what: "unshare -U, then write to read-only mounts by remounting them", try: nested("remount")},
		{id: "N06", threat: "T6", what: "unshare -U, then unmount what covers .cursor, /proc/sys, /run", try: nested("uncover")},
		{id: "N07", threat: "T13", what: "unshare -U, mount a fresh /proc, write core_pattern", try: nested("proc")},
		{id: "N08", threat: "T13", what: "unshare -U, mount /sys, write uevent_helper", try: nested("sys")},
		{id: "N09", threat: "CVE-2022-0492", what: "unshare -UrmC, mount cgroups, write release_agent", try: nested("cgroup")},
		{id: "N10", threat: "T13", what: "unshare -U, climb to the namespaces above by NS_GET_PARENT", try: nested("setns")},
		{id: "N11", threat: "T13", what: "unshare -U, make and open /dev/mem", try: nested("mknod")},
		{id: "N12", threat: "T24", what: "unshare -U, mount over /run/substrat for others to see", try: nested("cover"), judge: func(w *world, o outcome) outcome {
			if out := w.shell("lead/recluse", "ls /run/substrat/bin"); o.Verdict == hole || out != "" && !strings.Contains(out, "substrat") {
				return was(hole, "another agent sees %q", out)
			}
			return o
		}},
		{id: "N13", threat: "T5", what: "unshare -U, propagate a mount in the workspace to the host", try: nested("propagate"), judge: func(w *world, o outcome) outcome {
			data, _ := os.ReadFile("/proc/self/mountinfo")
			if bytes.Contains(data, []byte(filepath.Join(w.facts.Shared, "propagated"))) {
				return was(hole, "the mount is on the host")
			}
			return o
		}},
		{id: "N14", threat: "T13", what: "unshare -U, become another user by uid_map and setresuid", try: nested("setuid-map")},
		{id: "N15", threat: "shocker", what: "open files of the host by handle (open_by_handle_at)", try: openByHandle},
		{id: "N16", threat: "shocker", what: "unshare -U, open files of the host by handle", try: nested("handle")},
		{id: "N17", threat: "T13", what: "unshare -U, reach netfilter's code in the kernel", try: nested("netfilter")},
	}
}

// openByHandle asks for the root of the file system that the workspace is on, which has the inode 2.
func openByHandle(f *facts) outcome {
	dir, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return was(untried, "%v", err)
	}
	handle := unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0})
	fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
	switch {
	case err == nil:
		_ = unix.Close(fd)
		return was(hole, "the root of the file system was opened")
	case isErrno(err, unix.ESTALE):
		return was(hole, "the call is open to it (ESTALE)")
	}
	return was(refused, "%v", err)
}

const atFDCWD = ^uintptr(99) // -100
