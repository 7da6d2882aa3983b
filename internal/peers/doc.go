// Package peers holds the tests with real third-party agents: the build tag peers and `make peers` run them. It owns no
// code but theirs, and they never speak to anything but a model on this machine that follows a script.
package peers
