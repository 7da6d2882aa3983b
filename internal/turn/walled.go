package turn

import (
	"net"

	"substrat.dev/substrat/internal/sock"
)

// Walled says whether the process at the other end of a connection was started by a turn and is behind walls that it cannot
// leave. Where the kernel does not hold sockets, such a process can connect to those of the daemon and of the shims, which
// are not for it.
func Walled(c net.Conn) (bool, error) {
	return sock.PeerWalled(c, func(argv []string) bool { return len(argv) > 1 && argv[1] == ShimCommand })
}

// unwalled takes connections of processes outside every turn's walls only.
type unwalled struct{ net.Listener }

// Accept implements net.Listener.
func (l unwalled) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if walled, err := Walled(c); err == nil && !walled {
			return c, nil
		}
		_ = c.Close()
	}
}
