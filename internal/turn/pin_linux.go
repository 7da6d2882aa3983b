package turn

import (
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// pin opens the pinned directories, by paths without links, and has bwrap mount what was opened: a path that an agent turns into a link
// while bwrap starts would lead it elsewhere, where it would make the places of further mounts. first is the number of the first
// descriptor among those that the process gets.
func pin(spec Spec, first int) (options []string, fds []int, err error) {
	options = slices.Clone(spec.Options)
	for i := 0; i+2 < len(options); i++ {
		if options[i] != "--bind" && options[i] != "--ro-bind" || !slices.Contains(spec.Pinned, options[i+1]) {
			continue
		}
		fd, err := unix.Openat2(unix.AT_FDCWD, options[i+1], &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
		if err != nil {
			closeAll(fds)
			return nil, nil, fmt.Errorf("cannot open the directory %s, in which no part may be a symbolic link: %w", options[i+1], err)
		}
		options[i], options[i+1] = options[i]+"-fd", strconv.Itoa(first+len(fds))
		fds = append(fds, fd)
		i += 2
	}
	return options, fds, nil
}
