package engine

import (
	"maps"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/door"
)

// outsidePort is where, inside, the door adds a key to requests.
const outsidePort = 3129

// command asks the provider what to run. Where the configuration keeps its key outside, the process gets a placeholder, and the
// address of a port on which the egress door puts the key into each request.
func (r *runner) command(a *attempt) (agentcli.Command, error) {
	cmd, err := a.provider.Command(a.request)
	if err != nil || !a.walls.KeyOutside || a.routes != nil {
		return cmd, err
	}
	name := a.provider.Info().Name
	if a.agent.Sandbox != substrat.Bubblewrap || a.living.Network != substrat.NetworkDoor {
		return cmd, noKey{substrat.Errorf(substrat.CodeInvalid, "cannot run %s: the key of %s is to stay outside, which needs a sandbox and network door", a.path, name)}
	}
	env := maps.Clone(cmd.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, a.keys.env)
	routes := a.provider.Info().Keys
	route, key, ok := agentcli.RouteFor(routes, env)
	if !ok {
		return cmd, noKey{substrat.Errorf(substrat.CodeNotFound, "cannot run %s: the key of %s is to stay outside, and there is none that can", a.path, name).
			WithHint("give one with [providers.%s] env, or take key_outside out: a login by browser lies in files that the CLI needs", name)}
	}
	header, value := route.HeaderFor(key)
	a.routes = []door.Route{{Port: outsidePort, Target: route.Target, Header: map[string]string{header: value}}}
	r.e.learn([]string{route.Env + "=" + key})
	inside := maps.Clone(a.keys.env)
	if inside == nil {
		inside = map[string]string{}
	}
	maps.Copy(inside, route.Inside(routes, env, outsidePort))
	a.request.Env, a.keys.env = inside, inside
	return a.provider.Command(a.request)
}
