package relay

import (
	"bytes"
	"slices"
	"sync"
)

// What may wait for an answer at once. A client that asks for more is not read until there is room.
const (
	pendingMost      = 256
	pendingBytesMost = 8 << 20
)

// request is one that was not answered.
type request struct {
	id   string
	raw  []byte
	line []byte
}

// book is what the relay remembers: who waits for what, and how the client began.
type book struct {
	mu      sync.Mutex
	pending []request // in the order in which they came
	bytes   int
	// handshake is the client's initialize, answered whether the client has its answer; initialized is the
	// notification that follows it. Clients of the era after that begin every request anew and leave these empty.
	handshake   request
	answered    bool
	initialized []byte
	// refused says why the daemon will not hear this relay.
	refused string
	// room gets a token when a request was settled.
	room chan struct{}
	// closing is set once no more requests come; empty is closed when then none is pending.
	closing bool
	empty   chan struct{}
}

func newBook() *book {
	return &book{room: make(chan struct{}, 1), empty: make(chan struct{})}
}

// full reports whether the client has to wait.
func (b *book) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pending) >= pendingMost || b.bytes >= pendingBytesMost
}

// note remembers what a line of the client's means for connections to come. It gives the reason why the line must not
// be sent on.
func (b *book) note(m message, line []byte) (reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case m.method != "" && m.id != "":
		if b.refused != "" {
			return b.refused
		}
		if b.find(m.id) >= 0 {
			return "the id is in use by a request that is not answered"
		}
		b.add(m, line)
	case m.method == "notifications/initialized":
		b.initialized = bytes.Clone(line)
	case m.method == "notifications/cancelled":
		b.remove(m.cancels())
	}
	return ""
}

func (b *book) add(m message, line []byte) {
	x := request{m.id, bytes.Clone(m.raw), bytes.Clone(line)}
	if m.method == "initialize" {
		b.handshake, b.answered, b.initialized = x, false, nil
	}
	b.pending = append(b.pending, x)
	b.bytes += len(x.line)
}

func (b *book) find(id string) int {
	return slices.IndexFunc(b.pending, func(x request) bool { return x.id == id })
}

// remove drops a request that waits no more.
func (b *book) remove(id string) {
	i := b.find(id)
	if i < 0 {
		return
	}
	b.bytes -= len(b.pending[i].line)
	b.pending = slices.Delete(b.pending, i, i+1)
	select {
	case b.room <- struct{}{}:
	default:
	}
	b.checkEmpty()
}

// waited reports whether the client still waits for the answer with this id.
func (b *book) waited(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id == b.handshake.id {
		b.answered = true
	}
	return b.find(id) >= 0
}

// done notes that the client has its answer.
func (b *book) done(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(id)
}

// repeat gives the lines a new connection begins with: the handshake, if the client has left it behind, and what was
// not answered, in order.
func (b *book) repeat() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out [][]byte
	if b.answered { // nobody waits for this answer, so it will not be passed on
		out = append(out, b.handshake.line, b.initialized)
	}
	for _, x := range b.pending {
		out = append(out, x.line)
		if !b.answered && x.id == b.handshake.id {
			out = append(out, b.initialized)
		}
	}
	return out
}

// waiting lists the requests that are not answered.
func (b *book) waiting() []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.pending)
}

// refuse notes that no request will be answered any more.
func (b *book) refuse(why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused = why
}

func (b *book) refusal() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// settle says that no more requests come; the channel closes when none is pending.
func (b *book) settle() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closing = true
	b.checkEmpty()
	return b.empty
}

func (b *book) checkEmpty() {
	if b.closing && len(b.pending) == 0 && b.empty != nil {
		select {
		case <-b.empty:
		default:
			close(b.empty)
		}
	}
}
