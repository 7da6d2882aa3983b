// Package netns makes the network that a sandbox gets where its agent may reach named hosts: a network namespace with nothing in it but
// a loopback, on which we listen. It is a step between the shim and bwrap, in a process of its own because only one that has just
// been made can be put into new namespaces.
//
// The step brings the loopback up, opens the listening sockets, hands them to the shim and becomes the program that it was given. A
// listening socket stays in the namespace it was made in, whoever holds it: so the shim accepts, outside, what an agent
// connects to inside, and no process of ours stays in the sandbox. The user namespace that owns the network is not the one
// that the agent runs in, so nothing the agent does can change it.
//
// It never decides who may connect where (internal/door does) and never makes a sandbox (bwrap does).
package netns
