package guard

import (
	"os"

	"golang.org/x/sys/unix"
)

// openBelow opens a directory below top in one call, where the kernel sees to it that no link is followed out of it. Any
// error leaves it to the caller to try another way.
func openBelow(top *os.File, dir string) (*os.File, error) {
	fd, err := unix.Openat2(int(top.Fd()), dir, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NONBLOCK, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil
}
