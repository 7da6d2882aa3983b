// Package teamfile reads the file of a whole team, for "substrat up", and compares it with what there is.
//
// [Parse] reads and checks it strictly, with line numbers, and [Plan] gives the changes that lead from what there is to
// what the file says, in order. A plan that was carried out leaves nothing to plan: running it twice changes nothing.
// Agents that are not in the file are left alone and named. The package reads the files that the file names and nothing
// else; carrying a plan out is the caller's.
package teamfile
