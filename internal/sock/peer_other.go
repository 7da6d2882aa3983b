//go:build !linux

package sock

import (
	"net"

	"substrat.dev/substrat"
)

// PIDNamespaces is for Linux only.
func PIDNamespaces(net.Conn) ([]uint64, error) {
	return nil, substrat.Errorf(substrat.CodeUnsupported, "there are no pid namespaces on this system")
}

// PeerWalled is false: there are no such walls on this system.
func PeerWalled(net.Conn, func(argv []string) bool) (bool, error) { return false, nil }
