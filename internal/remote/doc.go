// Package remote lets the control API be reached over TCP, which is done only where a person asked for it.
//
// It owns who may come in that way: the token and its file, the names that the daemon answers to, what a browser may do,
// and how much one address may ask. It never looks at what a request is about: a request that it lets through is served
// by the same handler as one on the control socket.
//
// A token in a header is what makes a request ours; everything else is there because a browser on the same machine can
// be made to send requests by any page it shows. A page cannot read answers (there are no CORS headers), cannot give
// itself another name (the Host is compared with the names we have, so a name that is bound anew to 127.0.0.1 is
// refused), and cannot send JSON or a token without asking first, which is refused.
package remote
