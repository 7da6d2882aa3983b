package turn

import (
	"bufio"
	"net"
	"testing"
)

// A daemon that connects while output comes may read stdout before the shim knows of it. Without a word at its arrival
// it would wait for the next output, which may never come.
func TestHubGreetsWithGrew(t *testing.T) {
	h := newHub()
	h.tell(evGrew)
	ours, theirs := net.Pipe()
	defer ours.Close()
	h.add(theirs)
	line, err := bufio.NewReader(ours).ReadBytes('\n')
	if m, ok := decode(line); err != nil || !ok || m.Event != evGrew {
		t.Errorf("a new client hears %q, %v, want grew", line, err)
	}
	h.close()
}
