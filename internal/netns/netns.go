package netns

import (
	"encoding/json"
	"errors"
	"net"
)

// Command is the hidden command of our programs that is the step: `<exe> netns ORDER ARGV…`.
const Command = "netns"

// rightsMost is how many descriptors go with one message; the kernel takes 253.
const rightsMost = 100

// order is what the step is to do. FD is the socket that it hands the listeners over on.
type order struct {
	FD  int   `json:"fd"`
	TCP []int `json:"tcp"`
	UDP []int `json:"udp"`
}

// Sockets are what the step opened, by port.
type Sockets struct {
	TCP map[int]net.Listener
	UDP map[int]net.PacketConn
}

// Close closes all of them.
func (s Sockets) Close() error {
	var errs []error
	for _, l := range s.TCP {
		errs = append(errs, l.Close())
	}
	for _, c := range s.UDP {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// argv is the command line of the step that becomes argv.
func (o order) argv(argv []string) ([]string, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return append([]string{"substrat-shim", Command, string(text)}, argv...), nil
}
