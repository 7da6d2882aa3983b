package turnjson

import (
	"context"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Provider gives one provider for all models of a configuration: which CLI runs follows from the model that is asked for.
// The name of a model is the configuration's own and is not told to its CLI.
func (c Config) Provider() agentcli.Provider {
	m := &models{byName: map[string]*Provider{}, main: c.Default}
	for name, model := range c.Models {
		m.byName[name] = New(model.Options)
	}
	return m
}

// models chooses among providers.
type models struct {
	byName map[string]*Provider
	main   string
}

func (m *models) of(req *agentcli.Request) (*Provider, error) {
	name := req.Model
	if name == "" {
		name = m.main
	}
	req.Model = ""
	if p := m.byName[name]; p != nil {
		return p, nil
	}
	return nil, substrat.Errorf(substrat.CodeNotFound, "there is no model %q in the configuration", name)
}

// Info implements agentcli.Provider.
func (m *models) Info() agentcli.Info {
	return agentcli.Info{Name: "turnjson", Title: "CLIs by the adapter contract, as configured", Network: true}
}

// Command implements agentcli.Provider.
func (m *models) Command(req agentcli.Request) (agentcli.Command, error) {
	p, err := m.of(&req)
	if err != nil {
		return agentcli.Command{}, err
	}
	return p.Command(req)
}

// Converse implements agentcli.Provider.
func (m *models) Converse(ctx context.Context, conn agentcli.Conn, req agentcli.Request, emit func(agentcli.Event) error) (agentcli.Result, error) {
	p, err := m.of(&req)
	if err != nil {
		return agentcli.Result{}, err
	}
	return p.Converse(ctx, conn, req, emit)
}

// Diagnose implements agentcli.Provider.
func (m *models) Diagnose(req agentcli.Request, partial agentcli.Result, exit agentcli.Exit) (substrat.FailureClass, string) {
	p, err := m.of(&req)
	if err != nil {
		return substrat.ClassModel, err.Error()
	}
	return p.Diagnose(req, partial, exit)
}

// Interrupt implements agentcli.Interrupter.
func (m *models) Interrupt(ctx context.Context, conn agentcli.Conn, req agentcli.Request) error {
	p, err := m.of(&req)
	if err != nil {
		return err
	}
	return p.Interrupt(ctx, conn, req)
}
