package api

import (
	"context"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/engine"
)

// item is the one thing that the fake needs a person for.
var item = substrat.Item{ID: "q", Kind: substrat.ItemQuestion, State: substrat.ItemOpen, Agent: "lead", Text: "red or blue?", Options: []string{"red", "blue"}}

func (f *fake) Queue(context.Context, bool) ([]substrat.Item, error) {
	return []substrat.Item{item}, nil
}

func (f *fake) Item(_ context.Context, id string) (substrat.Item, error) {
	if id != item.ID {
		return substrat.Item{}, substrat.Errorf(substrat.CodeNotFound, "no item")
	}
	return item, nil
}

func (f *fake) AnswerItem(ctx context.Context, id string, a substrat.Answer) (substrat.Item, error) {
	x, err := f.Item(ctx, id)
	x.Answer = &a
	return x, err
}

func (f *fake) Reach(ref string, n int) ([]substrat.Attempt, error) {
	_, err := f.find(ref)
	return []substrat.Attempt{{Host: ref, Port: n, Verdict: "denied"}}, err
}

func (f *fake) Sandbox(_ context.Context, ref string) (substrat.SandboxView, error) {
	a, err := f.find(ref)
	return substrat.SandboxView{Agent: a.Path}, err
}

func (f *fake) Shell(ctx context.Context, ref string, ask engine.ShellAsk, use engine.ShellUse) error {
	if _, err := f.find(ref); err != nil {
		return err
	}
	return use(ctx, engine.ShellPlan{ID: "shell-1", Argv: ask.Argv}, func(engine.ShellNote) {})
}

func (f *fake) Why(_ context.Context, ref string) (substrat.Why, error) {
	a, err := f.find(ref)
	return substrat.Why{Agent: a}, err
}

func (f *fake) Graph() substrat.Graph { return substrat.Graph{} }

func (f *fake) Gate(_ context.Context, ref string, down bool) (substrat.Agent, error) {
	a, err := f.find(ref)
	a.Gated = down
	return a, err
}

func (f *fake) Permit(_ context.Context, ref string) (substrat.Agent, error) { return f.find(ref) }

func (f *fake) Poke(_ context.Context, ref string) (substrat.Agent, string, error) {
	a, err := f.find(ref)
	return a, "poked", err
}

func (f *fake) Change(_ context.Context, ref string, _ substrat.AgentChange) (substrat.Agent, error) {
	return f.find(ref)
}

func (f *fake) SetBudgets(_ context.Context, ref string, b []substrat.Budget) (substrat.Agent, error) {
	a, err := f.find(ref)
	a.Budgets = b
	return a, err
}

func (f *fake) Remind(_ context.Context, ref, reason string, _, _ time.Duration) (substrat.Reminder, error) {
	_, err := f.find(ref)
	return substrat.Reminder{ID: "r", Reason: reason}, err
}

func (f *fake) Reminders(_ context.Context, ref string) ([]substrat.Reminder, error) {
	_, err := f.find(ref)
	return []substrat.Reminder{}, err
}

func (f *fake) CancelReminder(_ context.Context, ref, _ string) error {
	_, err := f.find(ref)
	return err
}

func (f *fake) Resume(_ context.Context, ref string) (string, int, error) { return ref, 1, nil }

func (f *fake) Search(context.Context, string, int, bool) ([]substrat.Hit, error) {
	return []substrat.Hit{}, nil
}

// place is the one workspace of the fake.
var place = substrat.Workspace{ID: "w", Name: "src", Owner: "lead"}

func (f *fake) Workspaces(context.Context, string) ([]substrat.Workspace, error) {
	return []substrat.Workspace{place}, nil
}

func (f *fake) Workspace(_ context.Context, ref string) (substrat.Workspace, error) {
	if ref != "lead/src" {
		return substrat.Workspace{}, substrat.Errorf(substrat.CodeNotFound, "no workspace")
	}
	return place, nil
}

func (f *fake) CreateWorkspace(_ context.Context, n substrat.NewWorkspace) (substrat.Workspace, error) {
	return substrat.Workspace{Name: n.Name}, nil
}

func (f *fake) DeleteWorkspace(ctx context.Context, ref string, _ bool) (string, error) {
	_, err := f.Workspace(ctx, ref)
	return "kept", err
}

func (f *fake) DiffWorkspace(ctx context.Context, ref string) (substrat.WorkspaceDiff, error) {
	_, err := f.Workspace(ctx, ref)
	return substrat.WorkspaceDiff{}, err
}

func (f *fake) MergeWorkspace(ctx context.Context, ref, into string) (substrat.WorkspaceMerge, error) {
	_, err := f.Workspace(ctx, ref)
	return substrat.WorkspaceMerge{Into: into}, err
}

func (f *fake) LinkWorkspace(ctx context.Context, ref string, _ substrat.NewLink) (substrat.Workspace, error) {
	return f.Workspace(ctx, ref)
}

func (f *fake) UnlinkWorkspace(ctx context.Context, ref, _ string) (substrat.Workspace, error) {
	return f.Workspace(ctx, ref)
}

func (f *fake) CaptureEnv(ctx context.Context, ref, _ string) (substrat.Workspace, error) {
	return f.Workspace(ctx, ref)
}
