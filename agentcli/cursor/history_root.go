package cursor

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// The root of a conversation is a protobuf message. Its repeated field 1 holds the ids of the messages, 32 bytes each, in
// order; the other fields (tokens, turns, the workspace, the mode) are skipped, whatever they hold.

const rootMessages = 1

var errRootCut = errors.New("it ends in the middle of a field")

// decodeRoot gives the ids. It never gives more of them than there are bytes for.
func decodeRoot(root []byte) (ids [][sha256.Size]byte, err error) {
	for len(root) > 0 {
		tag, n := binary.Uvarint(root)
		if n <= 0 {
			return ids, errRootCut
		}
		root = root[n:]
		field, wire := tag>>3, tag&7
		if field == 0 || field > 1<<29-1 {
			return ids, fmt.Errorf("it has a field %d", field)
		}
		data, rest, err := protoValue(root, wire)
		if err != nil {
			return ids, err
		}
		root = rest
		if field != rootMessages {
			continue
		}
		if wire != 2 || len(data) != sha256.Size {
			return ids, errors.New("its first field holds something other than ids of messages")
		}
		ids = append(ids, [sha256.Size]byte(data))
	}
	return ids, nil
}

// protoValue cuts off one value; data is set for one with a length.
func protoValue(in []byte, wire uint64) (data, rest []byte, err error) {
	var skip int
	switch wire {
	case 0:
		_, n := binary.Uvarint(in)
		if n <= 0 {
			return nil, nil, errRootCut
		}
		skip = n
	case 1:
		skip = 8
	case 2:
		size, n := binary.Uvarint(in)
		if n <= 0 || size > uint64(len(in)-n) {
			return nil, nil, errRootCut
		}
		return in[n : n+int(size)], in[n+int(size):], nil
	case 5:
		skip = 4
	default:
		return nil, nil, fmt.Errorf("it has a value of wire type %d", wire)
	}
	if skip > len(in) {
		return nil, nil, errRootCut
	}
	return nil, in[skip:], nil
}
