package resource

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// entryBytes is the least that a file or directory counts for: empty ones use up a file system too.
const entryBytes = 4096

// disk measures one tree.
//
// Walking is dear, asking the file system what it has left is not. A tree can only have grown by what the file system has
// lost, so a walk waits for the loss to allow a breach.
//
// Of a workspace only growth counts: what there is now less what there was at the start. To know that, a walk at the start is
// needed, which a large repository would make dear for every turn; it is given up after baseEntries. Growth is then taken to
// be no more than what was changed since the start, and no more than what the file system has lost since. Both have to be over
// the limit. So whoever rebuilds in place what was there before, or has a busy neighbour, is left alone, and the file system
// loses no more than the limit before the turn is ended; only what others give back meanwhile is not held against the turn.
type disk struct {
	limit DiskLimit
	read  diskReadings

	start  space
	base   int64 // what there was at the start
	exact  bool  // base is known
	begun  bool
	walked bool
	size   int64 // at the last walk
	at     space // when the last walk began, or the most there was since
	ended  time.Time
	cost   time.Duration // of the last walk
	last   space
}

// space is what a file system has left.
type space struct {
	free  int64 // bytes
	files int64
	blind bool // the file system does not say
}

// lost is how much less than s there is now, in bytes, with each file at the least that it counts for.
func (s space) lost(now space) int64 {
	return max(s.free-now.free, (s.files-now.files)*entryBytes, 0)
}

// extent is what a walk has found.
type extent struct {
	all     int64 // bytes
	changed int64 // of files that were changed since the start
	hidden  bool  // a directory changed since the start could not be read, or is nested beyond reason
}

type diskReadings struct {
	space func() (space, error)
	// walk gives up with errTooMany after so many entries, where that is not zero.
	walk  func(ctx context.Context, most int) (extent, error)
	close func()
}

// walkShare: walking takes no more than one part in so many of the time.
const walkShare = 5

// baseEntries takes some 50 ms to walk.
const baseEntries = 30_000

var errTooMany = errors.New("too many entries")

const lookAnyway = 30 * time.Second

func newDisk(l DiskLimit, tree func() []int) *disk {
	root := &diskRoot{path: l.Path, fd: -1, tree: tree}
	return &disk{limit: l, read: diskReadings{space: root.space, walk: root.walk, close: root.close}}
}

func (d *disk) check(ctx context.Context) (r Reason, hit, changed bool) {
	now, err := d.read.space()
	if err != nil {
		return r, false, false // it need not be there yet
	}
	if !d.begun {
		d.begin(ctx, now)
		return r, false, true
	}
	changed = now != d.last
	d.last = now
	// What others give back hides nothing that is written after it.
	d.at.free, d.at.files = max(d.at.free, now.free), max(d.at.files, now.files)
	if !d.due(now) {
		return r, false, changed
	}
	found, err := d.timedWalk(ctx, 0)
	if err != nil {
		return r, false, changed
	}
	// The loss up to after the walk, the rest up to before it: neither misses anything.
	d.walked, d.at = true, now
	after, err := d.read.space()
	if err != nil {
		after = now
	}
	d.size = d.measure(found, d.start.lost(after))
	if d.size > d.limit.Bytes {
		return diskReason(d.limit, d.size), true, true
	}
	return r, false, changed
}

// begin finds out what there was. What is changed while it looks has grown as far as anybody can tell.
func (d *disk) begin(ctx context.Context, now space) {
	d.begun, d.start, d.last = true, now, now
	if !d.limit.Growth {
		return
	}
	if found, err := d.timedWalk(ctx, baseEntries); err == nil && !found.hidden {
		d.exact, d.walked, d.at, d.base = true, true, now, found.all-found.changed
	}
}

func (d *disk) timedWalk(ctx context.Context, most int) (extent, error) {
	began := time.Now()
	found, err := d.read.walk(ctx, most)
	d.ended = time.Now()
	d.cost = d.ended.Sub(began)
	return found, err
}

// measure says what counts against the limit.
func (d *disk) measure(found extent, lost int64) int64 {
	switch {
	case d.exact && found.hidden:
		return max(found.all-d.base, 0) + lost
	case d.exact:
		return max(found.all-d.base, 0)
	case d.limit.Growth && d.start.blind:
		return found.changed
	case d.limit.Growth && found.hidden:
		return lost
	case d.limit.Growth:
		return min(found.changed, lost)
	case found.hidden:
		return found.all + lost
	}
	return found.all
}

// due says whether a walk could find a breach and has not been made too recently.
func (d *disk) due(now space) bool {
	if d.limit.Growth && !d.exact && !now.blind && d.start.lost(now) <= d.limit.Bytes {
		return false
	}
	if !d.walked {
		return true
	}
	if time.Since(d.ended) < d.cost*walkShare {
		return false
	}
	// What others give back while this turn writes cannot be told from nothing having happened, so it is looked at
	// now and then all the same.
	return now.blind || d.at.lost(now) > (d.limit.Bytes-d.size)/8 || time.Since(d.ended) > max(lookAnyway, d.cost*100)
}

// diskRoot is the directory, held open so that nothing can be put in its place.
type diskRoot struct {
	path    string
	fd      int
	started time.Time
	tree    func() []int
}

func (d *diskRoot) space() (space, error) {
	if d.fd < 0 {
		fd, err := unix.Open(d.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return space{}, err
		}
		// The clock of files is a few milliseconds behind. So what was there before is certainly no growth.
		d.fd, d.started = fd, time.Now()
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &st); err != nil {
		return space{}, err
	}
	return space{free: int64(st.Bfree) * st.Bsize, files: int64(st.Ffree), blind: st.Blocks == 0}, nil
}

func (d *diskRoot) walk(ctx context.Context, most int) (extent, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return extent{}, err
	}
	w := walker{ctx: ctx, dev: st.Dev, since: d.started, seen: map[uint64]bool{}, most: most}
	fd, err := unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return extent{}, err
	}
	if err := w.dir(fd, 0); err != nil {
		return extent{}, err
	}
	if d.tree != nil {
		removed := removedFiles(d.tree(), st.Dev)
		w.found.all, w.found.changed = w.found.all+removed, w.found.changed+removed
	}
	return w.found, nil
}

func (d *diskRoot) close() {
	if d.fd >= 0 {
		unix.Close(d.fd)
		d.fd = -1
	}
}
