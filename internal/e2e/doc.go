// Package e2e holds the tests of the whole: the real binary, a real daemon, real SQLite, real bubblewrap, real processes
// and real kill -9. It has no code of its own.
//
// Every case ends with the same checker (check_test.go): each acknowledged command is in the journal once; each message
// has exactly one final state; no process of a finished turn lives; no slot is held; and a new turn on the same agent
// works. The last clause matters most: it is what a suite of fakes does not see.
package e2e
