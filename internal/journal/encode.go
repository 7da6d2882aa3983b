package journal

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"substrat.dev/substrat"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC-32C that is stored beside an event and checked when it is read: over Seq, TeamSeq and At as
// little-endian 64-bit numbers and then Team, Type, Actor, Key, Data and Answer, each after its length in the same form.
// Because Seq and Team are in it, an event that turns up in another's place is found as well.
func Checksum(e *substrat.Event) uint32 {
	var head [24]byte
	binary.LittleEndian.PutUint64(head[0:], uint64(e.Seq))
	binary.LittleEndian.PutUint64(head[8:], uint64(e.TeamSeq))
	binary.LittleEndian.PutUint64(head[16:], uint64(Nanos(e.At)))
	sum := crc32.Update(0, castagnoli, head[:])
	for _, s := range [...]string{e.Team, e.Type, e.Actor, e.Key} {
		sum = field(sum, []byte(s))
	}
	return field(field(sum, e.Data), e.Answer)
}

// SnapshotChecksum is the CRC-32C of a snapshot: over TeamSeq, Team and Data, in the form of Checksum.
func SnapshotChecksum(s Snapshot) uint32 {
	var head [8]byte
	binary.LittleEndian.PutUint64(head[:], uint64(s.TeamSeq))
	return field(field(crc32.Update(0, castagnoli, head[:]), []byte(s.Team)), s.Data)
}

func field(sum uint32, b []byte) uint32 {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
	return crc32.Update(crc32.Update(sum, castagnoli, n[:]), castagnoli, b)
}

// Nanos is how a time is stored: nanoseconds since 1970, 0 for the zero time. Time turns it back.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// Time is the time that Nanos made n of, in UTC.
func Time(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// Position is where a page of docs ended.
type Position struct {
	At       int64 // as Nanos gives it
	Kind, ID string
}

// Cursor is the position in the opaque form that callers hand back in Query.After.
func (p Position) Cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.At, 10) + "\x00" + p.Kind + "\x00" + p.ID))
}

// ParseCursor reads what Cursor made. Anything else is CodeInvalid.
func ParseCursor(s string) (Position, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	parts := strings.Split(string(b), "\x00")
	if err != nil || len(parts) != 3 {
		return Position{}, substrat.Errorf(substrat.CodeInvalid, "cannot list: %q is not a cursor", s)
	}
	at, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return Position{}, substrat.Errorf(substrat.CodeInvalid, "cannot list: %q is not a cursor", s)
	}
	return Position{At: at, Kind: parts[1], ID: parts[2]}, nil
}

// Clamp is the limit of an answer that was asked for n things.
func Clamp(n, standard, most int) int {
	if n <= 0 {
		return standard
	}
	return min(n, most)
}
