package api

import (
	"context"
	"time"

	"substrat.dev/substrat"
)

type attemptsInput struct {
	RefInput
	Last int `query:"last" minimum:"0" maximum:"100000" default:"200" doc:"how many of the last; 0 for all that are kept"`
}

type attemptList struct {
	Attempts []substrat.Attempt `json:"attempts"`
}

func (s *server) attempts(_ context.Context, in *attemptsInput) (*body[attemptList], error) {
	list, err := s.Engine.Reach(in.Ref, in.Last)
	return &body[attemptList]{attemptList{list}}, err
}

func (s *server) why(ctx context.Context, in *RefInput) (*body[substrat.Why], error) {
	w, err := s.Engine.Why(ctx, in.Ref)
	return &body[substrat.Why]{w}, err
}

func (s *server) graph(context.Context, *struct{}) (*body[substrat.Graph], error) {
	return &body[substrat.Graph]{s.Engine.Graph()}, nil
}

type gateInput struct {
	RefInput
	Body struct {
		Down bool `json:"down" doc:"true puts the gate down, false lifts it"`
	}
}

func (s *server) gate(ctx context.Context, in *gateInput) (*body[substrat.Agent], error) {
	a, err := s.Engine.Gate(ctx, in.Ref, in.Body.Down)
	return &body[substrat.Agent]{a}, err
}

func (s *server) permit(ctx context.Context, in *RefInput) (*body[substrat.Agent], error) {
	a, err := s.Engine.Permit(ctx, in.Ref)
	return &body[substrat.Agent]{a}, err
}

func (s *server) poke(ctx context.Context, in *RefInput) (*body[done], error) {
	_, status, err := s.Engine.Poke(ctx, in.Ref)
	return &body[done]{done{status}}, err
}

type changeInput struct {
	RefInput
	Body substrat.AgentChange
}

func (s *server) change(ctx context.Context, in *changeInput) (*body[substrat.Agent], error) {
	a, err := s.Engine.Change(ctx, in.Ref, in.Body)
	return &body[substrat.Agent]{a}, err
}

type budgetsInput struct {
	RefInput
	Body struct {
		Budgets []substrat.Budget `json:"budgets"`
	}
}

func (s *server) setBudgets(ctx context.Context, in *budgetsInput) (*body[substrat.Agent], error) {
	a, err := s.Engine.SetBudgets(ctx, in.Ref, in.Body.Budgets)
	return &body[substrat.Agent]{a}, err
}

type reminderList struct {
	Reminders []substrat.Reminder `json:"reminders"`
}

func (s *server) reminders(ctx context.Context, in *RefInput) (*body[reminderList], error) {
	list, err := s.Engine.Reminders(ctx, in.Ref)
	return &body[reminderList]{reminderList{list}}, err
}

type remindInput struct {
	RefInput
	Body struct {
		Reason       string  `json:"reason"`
		AfterSeconds float64 `json:"after_seconds" minimum:"1" maximum:"31622400"`
		EverySeconds float64 `json:"every_seconds,omitempty" minimum:"0" maximum:"31622400"`
	}
}

func (s *server) remind(ctx context.Context, in *remindInput) (*body[substrat.Reminder], error) {
	after, every := seconds(in.Body.AfterSeconds), seconds(in.Body.EverySeconds)
	r, err := s.Engine.Remind(ctx, in.Ref, in.Body.Reason, after, every)
	return &body[substrat.Reminder]{r}, err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

type reminderInput struct {
	RefInput
	ID string `path:"id" maxLength:"128"`
}

func (s *server) cancelReminder(ctx context.Context, in *reminderInput) (*body[done], error) {
	return &body[done]{done{"cancelled"}}, s.Engine.CancelReminder(ctx, in.Ref, in.ID)
}

type resumeInput struct {
	Body struct {
		Account string `json:"account" doc:"an account of a provider, or an agent that runs on it"`
	}
}

type resumed struct {
	Account string `json:"account"`
	// Teams is how many teams it held.
	Teams int `json:"teams"`
}

func (s *server) resume(ctx context.Context, in *resumeInput) (*body[resumed], error) {
	account, teams, err := s.Engine.Resume(ctx, in.Body.Account)
	return &body[resumed]{resumed{account, teams}}, err
}
