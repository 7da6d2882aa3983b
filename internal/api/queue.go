package api

import (
	"context"

	"substrat.dev/substrat"
)

type queueInput struct {
	All bool `query:"all" doc:"also what no longer needs anybody, the last thousand"`
}

type itemList struct {
	Items []substrat.Item `json:"items"`
}

func (s *server) listQueue(ctx context.Context, in *queueInput) (*body[itemList], error) {
	items, err := s.Engine.Queue(ctx, in.All)
	return &body[itemList]{itemList{items}}, err
}

func (s *server) getItem(ctx context.Context, in *IDInput) (*body[substrat.Item], error) {
	x, err := s.Engine.Item(ctx, in.ID)
	return &body[substrat.Item]{x}, err
}

type answerInput struct {
	IDInput
	Body substrat.Answer
}

func (s *server) answerItem(ctx context.Context, in *answerInput) (*body[substrat.Item], error) {
	x, err := s.Engine.AnswerItem(ctx, in.ID, in.Body)
	return &body[substrat.Item]{x}, err
}
