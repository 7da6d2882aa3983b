// Package substratagent is the helper library for Go programs that are agents of Substrat (provider scripted). It uses the
// standard library only and may be copied.
//
// [Run] calls a handler once for each turn. What the handler keeps in ordinary variables is there in the next turn, also when
// the process was ended in between or killed: a new process is given the turns so far and runs the handler for each of them
// again, and calls are answered from the record and not done again. For that the handler must do the same when it is given
// the same: use Turn.Now and Turn.Random instead of clock and randomness, Turn.Once for everything else that comes from
// outside, and make calls from one goroutine.
//
// Standard output belongs to the protocol: print to standard error. The library never starts processes or goroutines.
package substratagent
