// Package api is the daemon's HTTP API: one table of routes, one file for each noun, and a document that describes them.
//
// It translates between HTTP and the engine and holds no rule: what may happen is decided behind [Engine]. Everything it
// serves is under /v1. Errors are RFC 9457 problems with a stable code. Event streams are read from the journal and from
// the turns' spools at the reader's own pace, so a slow reader holds up nobody and nothing piles up for one.
package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/engine"
)

// Engine is what the routes ask. Errors are *substrat.Error; their codes decide the HTTP status.
type Engine interface {
	CreateAgent(ctx context.Context, n substrat.NewAgent) (substrat.Agent, error)
	Agents(ctx context.Context, all bool) ([]substrat.Agent, error)
	Agent(ctx context.Context, ref string) (substrat.Agent, error)
	Inspect(ctx context.Context, ref string) (engine.Inspection, error)
	Send(ctx context.Context, ref, text string) (substrat.Sent, error)
	Message(ctx context.Context, id string) (substrat.Message, error)
	Messages(ctx context.Context, q engine.MessageQuery) ([]substrat.Message, string, error)
	Receipt(ctx context.Context, id string) (engine.Receipt, error)
	Turn(ctx context.Context, id string) (substrat.Turn, error)
	Turns(ctx context.Context, ref string, limit int) ([]substrat.Turn, error)
	StopTurn(ctx context.Context, ref string) (substrat.Turn, error)
	Suspend(ref string) (bool, error)
	Terminate(ctx context.Context, ref, reason string) error
	Events(ctx context.Context, after int64, limit int) ([]substrat.Event, error)
	EventsChanged(after int64) <-chan struct{}
	Stream(ctx context.Context, ref string, from engine.StreamPos, emit func(engine.StreamItem) error) error
	Search(ctx context.Context, text string, limit int, newest bool) ([]substrat.Hit, error)
	Workspaces(ctx context.Context, ref string) ([]substrat.Workspace, error)
	Workspace(ctx context.Context, ref string) (substrat.Workspace, error)
	CreateWorkspace(ctx context.Context, n substrat.NewWorkspace) (substrat.Workspace, error)
	DeleteWorkspace(ctx context.Context, ref string, force bool) (kept string, err error)
	DiffWorkspace(ctx context.Context, ref string) (substrat.WorkspaceDiff, error)
	MergeWorkspace(ctx context.Context, ref, into string) (substrat.WorkspaceMerge, error)
	LinkWorkspace(ctx context.Context, ref string, n substrat.NewLink) (substrat.Workspace, error)
	UnlinkWorkspace(ctx context.Context, ref, at string) (substrat.Workspace, error)
	CaptureEnv(ctx context.Context, ref, script string) (substrat.Workspace, error)
	Queue(ctx context.Context, all bool) ([]substrat.Item, error)
	Item(ctx context.Context, id string) (substrat.Item, error)
	AnswerItem(ctx context.Context, id string, a substrat.Answer) (substrat.Item, error)
	Reach(ref string, n int) ([]substrat.Attempt, error)
	Sandbox(ctx context.Context, ref string) (substrat.SandboxView, error)
	Shell(ctx context.Context, ref string, ask engine.ShellAsk, use engine.ShellUse) error
	Why(ctx context.Context, ref string) (substrat.Why, error)
	Graph() substrat.Graph
	Gate(ctx context.Context, ref string, down bool) (substrat.Agent, error)
	Permit(ctx context.Context, ref string) (substrat.Agent, error)
	Poke(ctx context.Context, ref string) (substrat.Agent, string, error)
	Change(ctx context.Context, ref string, c substrat.AgentChange) (substrat.Agent, error)
	SetBudgets(ctx context.Context, ref string, b []substrat.Budget) (substrat.Agent, error)
	Remind(ctx context.Context, ref, reason string, after, every time.Duration) (substrat.Reminder, error)
	Reminders(ctx context.Context, ref string) ([]substrat.Reminder, error)
	CancelReminder(ctx context.Context, ref, id string) error
	Resume(ctx context.Context, ref string) (account string, teams int, err error)
	Shutdown(mode string)
	Info() engine.Info
}

// Config is what a server is made of.
type Config struct {
	Engine  Engine
	Version string
	// Socket is the control socket's path, for the status.
	Socket string
	// URL is where the API is over TCP, empty where it is not.
	URL string
	// MCP serves the agents' tools to a person who speaks as ref. It returns when the connection is over.
	MCP func(ctx context.Context, ref string, conn io.ReadWriteCloser) error
}

// server holds what the handlers need.
type server struct {
	Config
	mux *http.ServeMux
	api huma.API
}

// bodyMost bounds a request's body.
const bodyMost = 4 << 20

// New makes the handler of the whole API.
func New(c Config) http.Handler {
	h := huma.DefaultConfig("Substrat", c.Version)
	h.Info.Description = "Runs teams of command-line coding agents. Agents are named by path (escaped as one segment), bare name or id."
	h.OpenAPIPath, h.DocsPath, h.SchemasPath, h.CreateHooks = "/v1/openapi", "", "", nil
	s := &server{Config: c, mux: http.NewServeMux()}
	s.api = humago.New(s.mux, h)
	for _, r := range routes {
		op := huma.Operation{
			OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, MaxBodyBytes: bodyMost,
			Extensions: map[string]any{"x-access": string(r.access)}, DefaultStatus: r.status,
		}
		r.add(s, op)
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, substrat.Errorf(substrat.CodeNotFound, "no route %s %.200s", r.Method, r.URL.Path).WithHint("GET /v1/openapi.json lists the routes"))
	})
	return s.mux
}

// handle registers a typed handler.
func handle[I, O any](f func(*server, context.Context, *I) (*O, error)) func(*server, huma.Operation) {
	return func(s *server, op huma.Operation) {
		huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := f(s, ctx, in)
			if err != nil {
				return nil, newProblem(err)
			}
			return out, nil
		})
	}
}

// stream registers a handler that writes its answer itself, and describes it.
func stream(describe string, f func(*server, http.ResponseWriter, *http.Request)) func(*server, huma.Operation) {
	return func(s *server, op huma.Operation) {
		op.Responses = map[string]*huma.Response{"200": {Description: describe}}
		for _, name := range pathParams(op.Path) {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: "string"}})
		}
		s.api.OpenAPI().AddOperation(&op)
		s.mux.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, r *http.Request) { f(s, w, r) })
	}
}

// body is an answer with a JSON body.
type body[T any] struct{ Body T }
