// Package door is the egress door of a sandbox: what an agent whose network is a loopback with nothing on it can reach, by name.
//
// [Door.Serve] is given sockets that listen inside the sandbox's network and serves them from outside. Every name that is allowed
// has an address of its own (127.64.0.0/10) in the answers of the door's DNS, so the address that a connection comes in on says
// which name was meant, also where a protocol names no host. On port 443 the ClientHello's server name has to be that name, on port 80 each
// request's Host, on port 3128 (an ordinary HTTP proxy) the name in CONNECT and then the ClientHello's. Other ports have to be named by an
// entry. A route is a port on which real keys are added to requests for one host, so that the agent never has them.
//
// A name is resolved outside, the answers are checked (nothing private, nothing of this machine, nothing that only looks public), and
// exactly a checked address is dialled. So an answer that changes between check and use changes nothing, and an agent's own idea
// of an address is never followed.
//
// # What the door cannot see
//
// TLS stays between the agent and the host; the door has no certificate and reads nothing after the ClientHello. So an allowed host is
// allowed whole. In particular:
//
//   - Behind one address of a CDN there are many hosts. An agent may name an allowed one in the ClientHello and another in the encrypted
//     request ("domain fronting"). Many CDNs refuse that; those that do not are as wide open as all of their customers. Keep lists short,
//     and prefer api.x.com to *.cdn.example.
//   - An allowed host that stores what anybody sends (a code forge, a paste bin, a bucket) takes away whatever the agent may read.
//   - Encrypted ClientHello hides the real name behind a public one. A provider's front may take an outer name that we allow and serve
//     an inner one that we do not. Some clients send a meaningless one (GREASE), made so that nobody can tell; what nobody can tell apart
//     is refused, both. [Policy.AllowECH] lets them pass for who needs a browser inside: the connection then goes to the outer name's address all
//     the same, so what may hide is again only another host of the same front. Answers of our DNS carry no keys for ECH.
//   - After an upgrade (a websocket), and on ports that an entry names, bytes are not looked at, but for the name in a ClientHello.
//
// The package is networking alone. It never decides what is on a list, never knows whose sandbox it serves, and never makes the
// sockets (internal/netns does).
package door
