package cli

import (
	"errors"
	"fmt"
	"os"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/redact"
	"substrat.dev/substrat/agentcli/toolrouter"
	"substrat.dev/substrat/agentcli/turnjson"
)

// configured is the provider of a configuration in the adapter's shape, and the ways in which it does a turn.
func (a *app) configured(f runFlags, o *agentcli.Options) (agentcli.Provider, error) {
	if f.provider != "" && f.provider != "turnjson" {
		return nil, usageError{errors.New("--config and --provider contradict each other")}
	}
	data, err := os.ReadFile(f.config)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration: %v", err)
	}
	c, err := turnjson.ParseConfig(data)
	if err != nil {
		return nil, err
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(a.Err, "note:", printable(w))
	}
	if o.Plan, err = c.Plan(f.model); err != nil {
		return nil, err
	}
	if m := c.Models[o.Plan[0].Model]; o.Limits.Silence == 0 {
		o.Limits.Silence = m.Silence
	}
	return c.Provider(), nil
}

// contractTools are what a CLI of the adapter contract may call of us.
func (a *app) contractTools(f runFlags, dir string) (agentcli.ToolSet, error) {
	tools := append(toolrouter.Fetch(toolrouter.FetchOptions{}), toolrouter.Search(toolrouter.SearchOptions{Endpoint: f.search})...)
	if f.exec {
		if dir == "" {
			dir = "."
		}
		tools = append(tools, toolrouter.Exec(toolrouter.ExecOptions{Dir: dir, Env: os.Environ()}))
	}
	return toolrouter.New(toolrouter.Options{Redact: redact.New()}, tools...)
}
