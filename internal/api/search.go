package api

import (
	"context"

	"substrat.dev/substrat"
)

type searchInput struct {
	Q      string `query:"q" maxLength:"2000" doc:"words, \"phrases\", -words, from:, to:, agent:, kind:message|turn, since:2h"`
	Limit  int    `query:"limit" minimum:"0" maximum:"1000" doc:"default 50"`
	Newest bool   `query:"newest" doc:"newest first instead of best first"`
}

type hitList struct {
	Hits []substrat.Hit `json:"hits"`
}

func (s *server) search(ctx context.Context, in *searchInput) (*body[hitList], error) {
	hits, err := s.Engine.Search(ctx, in.Q, in.Limit, in.Newest)
	return &body[hitList]{hitList{hits}}, err
}
