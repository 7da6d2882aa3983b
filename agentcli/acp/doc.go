// Package acp drives agents that speak the Agent Client Protocol (agentclientprotocol.com, version 1): JSON-RPC 2.0 on
// standard input and output, one message on a line, one process for prompt after prompt. It knows the protocol, what
// Cursor's CLI adds to it, and how well-known agents are started.
//
// It is the client's side. One goroutine reads, so updates keep their order; an agent that sends faster than its events are
// taken waits. Only what a person is asked waits beside it. The protocol is tolerated, not policed: what is not known is a
// notice, and a request that is not known is answered with an error at once.
package acp
