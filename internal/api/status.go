package api

import (
	"context"
	"os"

	"substrat.dev/substrat/internal/engine"
)

// statusBody is what the daemon says of itself.
type statusBody struct {
	Running bool   `json:"running"`
	PID     int    `json:"pid"`
	Socket  string `json:"socket"`
	URL     string `json:"url,omitempty" doc:"where the API is over TCP"`
	engine.Info
}

func (s *server) status(context.Context, *struct{}) (*body[statusBody], error) {
	return &body[statusBody]{statusBody{Running: true, PID: os.Getpid(), Socket: s.Socket, URL: s.URL, Info: s.Engine.Info()}}, nil
}

type shutdownInput struct {
	Body struct {
		Mode string `json:"mode,omitempty" enum:"leave,drain,cancel" doc:"leave running turns to their shims (default), wait for them, or cancel them"`
	}
}

// done is an answer that says only what happens now.
type done struct {
	Status string `json:"status"`
}

func (s *server) shutdown(_ context.Context, in *shutdownInput) (*body[done], error) {
	s.Engine.Shutdown(in.Body.Mode)
	return &body[done]{done{"stopping"}}, nil
}
