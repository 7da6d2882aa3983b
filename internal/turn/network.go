package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"substrat.dev/substrat/agentcli/redact"
	"substrat.dev/substrat/internal/door"
)

// netName is the file of what went out, or was refused, through the egress door: one door.Attempt a line.
const netName = "net.ndjson"

// netMost bounds that file. What comes after is told of in the last line.
const netMost = 16 << 20

// network is the process's own network and the door in it, for as long as the shim lives.
type network struct {
	door *door.Door
	stop context.CancelFunc
	done chan struct{}
	log  netLog

	mu   sync.Mutex
	asks map[hostPort]chan bool // what nobody has answered yet
	tell func(message)
}

type hostPort struct {
	host string
	port int
}

// newNetwork readies a door. tell speaks to the daemons that are connected; hide holds what may be in the name of a host, and is
// to be in no file.
func newNetwork(dir string, p door.Policy, tell func(message), hide *redact.Known) (*network, error) {
	n := &network{log: netLog{path: filepath.Join(dir, netName)}, asks: map[hostPort]chan bool{}, tell: tell, done: make(chan struct{})}
	var err error
	n.door, err = door.New(p, door.Options{Ask: n.ask, Log: func(a door.Attempt) {
		a.Host, a.Why = hide.Text(a.Host), hide.Text(a.Why)
		n.log.add(a)
		n.tell(message{Event: evNet})
	}})
	if err != nil {
		return nil, fmt.Errorf("cannot make the egress door: %w", err)
	}
	return n, nil
}

// serve begins to let connections through.
func (n *network) serve(l door.Listeners) {
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	go func() {
		defer close(n.done)
		if err := n.door.Serve(ctx, l); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "substrat shim: the egress door:", err)
		}
	}()
}

// close ends every connection.
func (n *network) close() {
	if n == nil || n.stop == nil {
		return
	}
	n.stop()
	<-n.done
	n.log.close()
}

// ask has a daemon decide, now or when there is one.
func (n *network) ask(ctx context.Context, host string, port int) (bool, error) {
	key := hostPort{host, port}
	n.mu.Lock()
	answer := n.asks[key]
	if answer == nil {
		answer = make(chan bool, 1)
		n.asks[key] = answer
	}
	n.mu.Unlock()
	n.tell(message{Event: evAsk, Host: host, Port: port})
	select {
	case ok := <-answer:
		return ok, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// open lists what waits for an answer, for a daemon that has just come.
func (n *network) open() []message {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	out := []message{{Event: evNet}}
	for k := range n.asks {
		out = append(out, message{Event: evAsk, Host: k.host, Port: k.port})
	}
	return out
}

// decide takes a daemon's word on a host. It counts for what waits and for what comes.
func (n *network) decide(host string, port int, allow bool) {
	if n == nil {
		return
	}
	say := n.door.Deny
	if allow {
		say = n.door.Allow
	}
	if err := say(host, port); err != nil {
		fmt.Fprintln(os.Stderr, "substrat shim: the egress door:", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if answer := n.asks[hostPort{host, port}]; answer != nil {
		delete(n.asks, hostPort{host, port})
		answer <- allow
	}
}

// netLog is the file of attempts.
type netLog struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int
	full bool
}

func (l *netLog) add(a door.Attempt) {
	line, err := json.Marshal(a)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full {
		return
	}
	if l.file == nil {
		if l.file, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "substrat shim: cannot keep what went out:", err)
			l.full = true
			return
		}
	}
	if l.size += len(line) + 1; l.size > netMost {
		l.full = true
		line = []byte(`{"verdict":"denied","why":"more attempts than are kept; what follows is not listed"}`)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		fmt.Fprintln(os.Stderr, "substrat shim: cannot keep what went out:", err)
		l.full = true
	}
}

func (l *netLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.full = true
}

// listenersOf gives the door what the step opened.
func listenersOf(tcp map[int]net.Listener, udp map[int]net.PacketConn) door.Listeners {
	return door.Listeners{TCP: tcp, DNS: udp[53]}
}
