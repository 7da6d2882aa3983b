package api

import (
	"context"

	"substrat.dev/substrat"
)

type turnsInput struct {
	RefInput
	Limit int `query:"limit" minimum:"0" maximum:"10000" doc:"how many of the newest; default all"`
}

type turnList struct {
	Turns []substrat.Turn `json:"turns"`
}

func (s *server) listTurns(ctx context.Context, in *turnsInput) (*body[turnList], error) {
	list, err := s.Engine.Turns(ctx, in.Ref, in.Limit)
	if list == nil {
		list = []substrat.Turn{}
	}
	return &body[turnList]{turnList{list}}, err
}

func (s *server) getTurn(ctx context.Context, in *IDInput) (*body[substrat.Turn], error) {
	t, err := s.Engine.Turn(ctx, in.ID)
	return &body[substrat.Turn]{t}, err
}
