package turn

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// fdControl is what a shim inherits beside its stdio: its end of the starter's connection. What comes first on it is the
// job, with the other descriptors; from then on it is a control connection like any other.
const fdControl = 3

// handed is how many descriptors come with the job: the lock, the listener, the log.
const handed = 3

// spareLabel is the argument of a shim that was started ahead of its turn.
const spareLabel = "spare"

// job is the first message: its length as 8 bytes, big-endian, and its JSON.
type job struct {
	Dir   string `json:"dir"`
	Spec  Spec   `json:"spec"`
	Stdin []byte `json:"stdin"`
	// Secrets and Options are the spec's: like the rest of the job they are sent over a socket and written nowhere.
	Secrets []string `json:"secrets,omitempty"`
	Options []string `json:"options,omitempty"`
}

// idleShim is a shim that has no turn yet. It is given one or discarded.
type idleShim struct {
	conn *net.UnixConn
	pid  int
}

// spawn starts a shim. label is what `ps` shows. The shim ends by itself when its starter dies before it has a turn.
func spawn(exe, label string) (idleShim, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return idleShim{}, err
	}
	defer ours.Close()
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return idleShim{}, err
	}
	defer null.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return idleShim{}, fmt.Errorf("cannot use the shim's socket: %w", err)
	}
	pid, err := syscall.ForkExec(exe, []string{exe, ShimCommand, label}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   shimEnv,
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), theirs.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		conn.Close()
		return idleShim{}, fmt.Errorf("cannot run %s: %w", exe, err)
	}
	return idleShim{conn: conn.(*net.UnixConn), pid: pid}, nil
}

// give hands a turn over. The shim is waiting for it, so this does not block for long.
func (i idleShim) give(j job, l layout) error {
	data, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("cannot encode the turn: %w", err)
	}
	data = append(binary.BigEndian.AppendUint64(nil, uint64(len(data))), data...)
	rights := unix.UnixRights(int(l.lock.Fd()), int(l.listener.Fd()), int(l.log.Fd()))
	n, _, err := i.conn.WriteMsgUnix(data, rights, nil)
	// A write of nothing would fail where the turn is over already.
	if err == nil && n < len(data) {
		_, err = i.conn.Write(data[n:])
	}
	if err != nil {
		return fmt.Errorf("cannot hand the turn to its shim: %w", err)
	}
	return nil
}

// discard ends a shim that has no turn.
func (i idleShim) discard() error {
	i.conn.Close()
	return waitChild(i.pid)
}

// errNoTurn: the starter went away before it had a turn for this shim.
var errNoTurn = errors.New("there is no turn")

// receive waits for the job, on the shim's side.
func receive() (j job, fds []int, err error) {
	if err := unix.SetNonblock(fdControl, false); err != nil {
		return j, nil, fmt.Errorf("cannot use descriptor %d: %w", fdControl, err)
	}
	head, oob := make([]byte, 8), make([]byte, unix.CmsgSpace(4*handed))
	n, oobn, err := receiveHead(head, oob)
	switch {
	case err != nil:
		return j, nil, fmt.Errorf("cannot use descriptor %d: %w", fdControl, err)
	case n == 0:
		return j, nil, errNoTurn
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err == nil && len(messages) == 1 {
		fds, err = unix.ParseUnixRights(&messages[0])
	}
	if err != nil || len(fds) != handed || n != len(head) {
		return j, nil, errors.New("the first message brings no turn")
	}
	data := make([]byte, binary.BigEndian.Uint64(head))
	if _, err := io.ReadFull(rawReader(fdControl), data); err != nil {
		return j, nil, fmt.Errorf("cannot read the turn: %w", err)
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return j, nil, fmt.Errorf("cannot read the turn: %w", err)
	}
	return j, fds, nil
}

// receiveHead takes no byte beyond the head, so that all of them that the descriptors come with are in one call.
func receiveHead(head, oob []byte) (n, oobn int, err error) {
	for {
		n, oobn, _, _, err = unix.Recvmsg(fdControl, head, oob, 0)
		if err != unix.EINTR {
			return n, oobn, err
		}
	}
}

// rawReader reads a blocking descriptor without the runtime's poller.
type rawReader int

// Read implements io.Reader.
func (r rawReader) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(r), p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}
