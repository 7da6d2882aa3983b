package door

import (
	"container/list"
	"net/netip"
	"sync"
)

// mostNames bounds the table. The name that was asked for longest ago gives its address to the next.
const mostNames = 1 << 14

// names gives each name an address of its own.
type names struct {
	most int

	mu     sync.Mutex
	byName map[string]*list.Element
	byAddr map[netip.Addr]*list.Element
	recent *list.List // of *named, the latest first
}

type named struct {
	name string
	addr netip.Addr
}

func newNames() *names {
	return &names{most: mostNames, byName: map[string]*list.Element{}, byAddr: map[netip.Addr]*list.Element{}, recent: list.New()}
}

// address gives the address that stands for a name.
func (n *names) address(name string) netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.byName[name]; e != nil {
		n.recent.MoveToFront(e)
		return e.Value.(*named).addr
	}
	var addr netip.Addr
	if count := n.recent.Len(); count < n.most {
		addr = nth(count + 1)
	} else {
		e := n.recent.Back()
		old := n.recent.Remove(e).(*named)
		delete(n.byName, old.name)
		addr = old.addr
	}
	e := n.recent.PushFront(&named{name, addr})
	n.byName[name], n.byAddr[addr] = e, e
	return addr
}

// name gives the name that an address stands for.
func (n *names) name(addr netip.Addr) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.byAddr[addr]
	if e == nil {
		return "", false
	}
	return e.Value.(*named).name, true
}

// nth is the i-th of the addresses for names.
func nth(i int) netip.Addr {
	b := fakes.Addr().As4()
	b[1] |= byte(i >> 16)
	b[2], b[3] = byte(i>>8), byte(i)
	return netip.AddrFrom4(b)
}
