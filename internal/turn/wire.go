package turn

import (
	"encoding/json"
)

// protocol is the version of the messages. A side ignores messages of a higher one and kinds that it does not know, so
// a newer daemon can talk to the shims of an older one and the other way round.
const protocol = 1

// maxMessage bounds one line of the control socket; maxChunk is how much of a Write goes in one (base64 adds a third).
const (
	maxMessage = 1 << 20
	maxChunk   = 256 << 10
)

// What the daemon asks of the shim. Each request has an id and gets one reply.
const (
	opWrite      = "write"
	opCloseStdin = "close_stdin"
	opEnd        = "end"
	opCancel     = "cancel"
	opHost       = "host" // the word on a host: Host, Port, Allow
)

// What the shim tells. Several "grew" may be told as one; after "exited" dir/exit.json is there.
const (
	evStarted = "started"
	evGrew    = "grew"
	evExited  = "exited"
	evReply   = "reply"
	evNet     = "net" // dir/net.ndjson grew
	evAsk     = "ask" // a host waits for a word: Host, Port
)

// message is one line of the control socket.
type message struct {
	V     int    `json:"v"`
	Op    string `json:"op,omitempty"`
	Event string `json:"event,omitempty"`
	ID    int64  `json:"id,omitempty"`
	Data  []byte `json:"data,omitempty"`
	Err   string `json:"err,omitempty"`
	Host  string `json:"host,omitempty"`
	Port  int    `json:"port,omitempty"`
	Allow bool   `json:"allow,omitempty"`
}

// encode appends m as a line.
func (m message) encode(to []byte) []byte {
	m.V = protocol
	data, err := json.Marshal(m)
	if err != nil {
		panic("turn: a message of strings and numbers did not encode: " + err.Error())
	}
	return append(append(to, data...), '\n')
}

// decode gives ok false for what is to be ignored.
func decode(line []byte) (m message, ok bool) {
	err := json.Unmarshal(line, &m)
	return m, err == nil && m.V >= 1 && m.V <= protocol
}
