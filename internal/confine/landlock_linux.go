package confine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const (
	readRights landlock.AccessFSSet = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSResolveUnix
	fileWrite  landlock.AccessFSSet = ll.AccessFSWriteFile | ll.AccessFSTruncate
	// No device can be made anywhere: nobody here has the capability, and so it need not be in the rights either.
	writeRights landlock.AccessFSSet = readRights | fileWrite | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	// fileRights are those that a rule for what is no directory may have.
	fileRights landlock.AccessFSSet = ll.AccessFSExecute | ll.AccessFSReadFile | fileWrite | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// LandlockABI gives the version of Landlock that the kernel has, 0 where it has none or did not start it.
func LandlockABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// restrict applies Landlock as the plan wants it.
func restrict(p Plan) error {
	switch p.Landlock {
	case LandlockMust:
		return restrictAlone(p)
	case LandlockBest:
		if p.Nested {
			scopes := landlock.MustConfig(landlock.V6.Scoped)
			return scopes.BestEffort().RestrictScoped()
		}
		return restrictBehindMounts(p)
	}
	return nil
}

// restrictBehindMounts is the second wall: all may be read, and written what the plan names. The network is another
// wall's. On a kernel without Landlock it does nothing.
func restrictBehindMounts(p Plan) error {
	if LandlockABI() == 0 {
		return nil
	}
	config := landlock.MustConfig(landlock.V9.HandledAccessFS, landlock.V9.Scoped)
	places := placesOf(config)
	defer places.close()
	places.system("/", readRights)
	// Programs write to their own /proc: oom_score_adj, comm, and uid_map where they may.
	places.system("/proc", fileWrite)
	if err := places.write(p.Write); err != nil {
		return err
	}
	if places.err != nil {
		return places.err
	}
	return config.BestEffort().Restrict(places.rules...)
}

// restrictAlone is the only wall: nothing but what the plan names, and no kernel that cannot hold it.
func restrictAlone(p Plan) error {
	abi := LandlockABI()
	config := landlock.V6
	switch {
	case abi == 0:
		return errors.New("this kernel has no Landlock, or was started without it")
	case abi < MustABI:
		return fmt.Errorf("this kernel has version %d of it, and %d is needed", abi, MustABI)
	case abi >= 10:
		config = landlock.V10
	case abi == 9:
		config = landlock.V9
	}
	places := placesOf(config)
	defer places.close()
	for _, at := range p.Read {
		places.system(at, readRights)
	}
	if err := places.write(p.Write); err != nil {
		return err
	}
	if places.err != nil {
		return places.err
	}
	if p.AnyNet {
		config.HandledAccessNet = 0
	}
	for _, port := range p.ConnectTCP {
		places.rules = append(places.rules, landlock.ConnectTCP(port))
	}
	return config.Restrict(places.rules...)
}

// places collects rules. It keeps each place open until the rules are in force, and names it to the library by its
// descriptor, so that what was looked at is what the rule is for.
type places struct {
	handled landlock.AccessFSSet
	rules   []landlock.Rule
	fds     []int
	err     error // the first of system's
}

func placesOf(c landlock.Config) *places { return &places{handled: c.HandledAccessFS} }

func (s *places) close() {
	for _, fd := range s.fds {
		_ = unix.Close(fd)
	}
}

// write adds the places that stay writable. A symbolic link is refused: it would hand out what it leads to.
func (s *places) write(at []string) error {
	for _, at := range at {
		rights := writeRights
		if at == "/dev" || strings.HasPrefix(at, "/dev/") {
			rights |= ll.AccessFSIoctlDev
		}
		fd, st, err := openExactly(at)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%q %w", at, err)
		}
		s.add(fd, st.Mode, rights)
	}
	return nil
}

// system adds a place of the system, links and all, where it exists.
func (s *places) system(at string, rights landlock.AccessFSSet) {
	fd, err := unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
		return
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		s.err = errors.Join(s.err, fmt.Errorf("%q cannot be opened: %w", at, err))
		return
	}
	s.add(fd, st.Mode, rights)
}

func (s *places) add(fd int, mode uint32, rights landlock.AccessFSSet) {
	s.fds = append(s.fds, fd)
	if mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	if rights &= s.handled; rights != 0 {
		s.rules = append(s.rules, landlock.PathAccess(rights, fdPath(fd)))
	}
}
