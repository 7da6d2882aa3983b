package agentcli

import (
	"fmt"
	"strings"
)

// KeyRoute says how a CLI's key can stay outside of where the CLI runs: the CLI gets a placeholder and, in place of its
// provider's address, one on its own loopback; who listens there puts the real key into each request and passes it on.
type KeyRoute struct {
	// Env is the variable that holds the key.
	Env string
	// Target is the provider's address.
	Target string
	// Header is the line of each request that carries the key, with %s for it: "Authorization: Bearer %s".
	Header string
	// BaseURL is the variable that gives the CLI another address, and Path what it wants behind host and port.
	BaseURL, Path string
	// Placeholder has the form of a key and is none. It is long: some CLIs blank their key in what they print.
	Placeholder string
}

// HeaderFor gives the name and value of the line that carries a key.
func (k KeyRoute) HeaderFor(key string) (name, value string) {
	name, form, _ := strings.Cut(k.Header, ": ")
	return name, fmt.Sprintf(form, key)
}

// Inside gives the variables that a CLI is to have, by Request.Env, in place of those of its environment, where somebody listens
// on a port of its loopback: all of its keys are hidden, not only the one that is used.
func (k KeyRoute) Inside(routes []KeyRoute, env map[string]string, port int) map[string]string {
	out := map[string]string{k.BaseURL: fmt.Sprintf("http://127.0.0.1:%d%s", port, k.Path)}
	for _, r := range routes {
		if env[r.Env] != "" {
			out[r.Env] = r.Placeholder
		}
	}
	return out
}

// RouteFor gives the first route whose key an environment has, with that key; the address that the environment names goes
// before the provider's own. It answers false where there is no key, so that nothing can stay outside.
func RouteFor(routes []KeyRoute, env map[string]string) (k KeyRoute, key string, ok bool) {
	for _, k := range routes {
		if env[k.Env] == "" {
			continue
		}
		if own := env[k.BaseURL]; own != "" {
			k.Target = strings.TrimSuffix(strings.TrimSuffix(own, "/"), k.Path)
		}
		return k, env[k.Env], true
	}
	return KeyRoute{}, "", false
}
