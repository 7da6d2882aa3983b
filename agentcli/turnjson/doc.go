// Package turnjson drives a CLI by the adapter contract: it is given its prompt as an argument, or a whole turn as one line
// of JSON on its standard input, and prints events, one on a line or between sentinels.
//
// The package knows the lines and what they mean. It calls no tool itself, keeps nothing between turns, and starts nothing.
// A CLI that was written for the contract is held to it: what is malformed or unknown fails the turn. The official CLI,
// which takes its prompt as an argument, prints more than the contract names; that is kept as notices.
package turnjson
