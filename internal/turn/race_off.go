//go:build !race

package turn

// shimEnv is empty: a shim needs nothing of the daemon's environment, and what it could inherit are secrets.
var shimEnv = []string{}
