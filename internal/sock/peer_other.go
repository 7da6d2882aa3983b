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
