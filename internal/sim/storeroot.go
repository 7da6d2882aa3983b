package sim

import (
	"crypto/sha256"
	"encoding/binary"
)

// The fields of the root blob that the simulator writes: the messages' ids in order, the workspace's URI, the mode. The
// latter two are there so that readers meet fields they have to skip.
const (
	rootFieldMessages  = 1
	rootFieldWorkspace = 9
	rootFieldMode      = 10
	wireBytes          = 2
)

func encodeRoot(messages [][sha256.Size]byte, space workspace, mode string) []byte {
	var out []byte
	for _, id := range messages {
		out = appendBytesField(out, rootFieldMessages, id[:])
	}
	out = appendBytesField(out, rootFieldWorkspace, []byte("file://"+string(space)))
	return appendBytesField(out, rootFieldMode, []byte(mode))
}

func appendBytesField(out []byte, number uint64, data []byte) []byte {
	out = binary.AppendUvarint(out, number<<3|wireBytes)
	out = binary.AppendUvarint(out, uint64(len(data)))
	return append(out, data...)
}

// rootMessages reads field 1. It stops at the first thing that is not as this simulator writes it.
func rootMessages(root []byte) (messages [][sha256.Size]byte) {
	for len(root) > 0 {
		tag, n := binary.Uvarint(root)
		if n <= 0 || tag&7 != wireBytes {
			return messages
		}
		size, m := binary.Uvarint(root[n:])
		if m <= 0 || size > uint64(len(root)-n-m) {
			return messages
		}
		data := root[n+m:][:size]
		if tag>>3 == rootFieldMessages && size == sha256.Size {
			messages = append(messages, [sha256.Size]byte(data))
		}
		root = root[n+m+int(size):]
	}
	return messages
}
