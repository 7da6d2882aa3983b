package api

import (
	"context"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/engine"
)

// RefInput names an agent.
type RefInput struct {
	Ref string `path:"ref" maxLength:"1024" doc:"path (lead%2Fcoder), bare name or id"`
}

type createInput struct{ Body substrat.NewAgent }

func (s *server) createAgent(ctx context.Context, in *createInput) (*body[substrat.Agent], error) {
	a, err := s.Engine.CreateAgent(ctx, in.Body)
	return &body[substrat.Agent]{a}, err
}

type listInput struct {
	All bool `query:"all" doc:"also those that have ended"`
}

type agentList struct {
	Agents []substrat.Agent `json:"agents"`
}

func (s *server) listAgents(ctx context.Context, in *listInput) (*body[agentList], error) {
	list, err := s.Engine.Agents(ctx, in.All)
	return &body[agentList]{agentList{list}}, err
}

func (s *server) getAgent(ctx context.Context, in *RefInput) (*body[substrat.Agent], error) {
	a, err := s.Engine.Agent(ctx, in.Ref)
	return &body[substrat.Agent]{a}, err
}

func (s *server) inspectAgent(ctx context.Context, in *RefInput) (*body[engine.Inspection], error) {
	i, err := s.Engine.Inspect(ctx, in.Ref)
	return &body[engine.Inspection]{i}, err
}

type terminateInput struct {
	RefInput
	Reason string `query:"reason" maxLength:"1000"`
}

func (s *server) terminateAgent(ctx context.Context, in *terminateInput) (*body[done], error) {
	return &body[done]{done{"terminated"}}, s.Engine.Terminate(ctx, in.Ref, strings.TrimSpace(in.Reason))
}

// Suspended says whether there was a process to end.
type Suspended struct {
	Suspended bool `json:"suspended"`
}

func (s *server) suspendAgent(_ context.Context, in *RefInput) (*body[Suspended], error) {
	did, err := s.Engine.Suspend(in.Ref)
	if err != nil {
		return nil, err
	}
	return &body[Suspended]{Suspended{did}}, nil
}

func (s *server) stopTurn(ctx context.Context, in *RefInput) (*body[substrat.Turn], error) {
	t, err := s.Engine.StopTurn(ctx, in.Ref)
	return &body[substrat.Turn]{t}, err
}
