// Package substrat holds the words of the system: agents, messages, turns, journal events and errors, in the shapes
// that the HTTP API, the client and the command line exchange.
//
// It is a leaf. It imports the standard library only, starts no goroutine and does no I/O. Rules live in
// internal/team, effects in internal/engine; this package only names what they speak about.
//
// Times are UTC and marshal as RFC 3339 with nanoseconds. Ids are UUIDs (version 7 where Substrat makes them), opaque
// to every reader. Paths name an agent by its ancestors: "lead/coder" is the child coder of the root lead.
package substrat

// User is how the person above the teams appears as the sender or recipient of a message.
const User = "USER"

// System is the sender of messages that Substrat itself writes: failure notices and state changes.
const System = "system"
