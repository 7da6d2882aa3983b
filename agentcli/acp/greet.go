package acp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// kept is what is remembered of a process beside its session.
type kept struct {
	// Fresh is the id of the turn that begins the conversation: its prompt carries the standing instructions.
	Fresh string `json:"fresh,omitempty"`
	// First is the turn that the process begins with, Barrier says that it answers requests it does not know.
	First   string `json:"first,omitempty"`
	Barrier bool   `json:"barrier,omitempty"`
}

// greeter takes a new process to an open session.
type greeter struct {
	*link
	p    *Provider
	req  agentcli.Request
	init initialized
	keep kept
	// notes are for whoever reads the transcript.
	notes []string
}

// Greet implements agentcli.LiveProvider: it initialises the connection, logs in where the agent wants it, opens or resumes
// the session and sets mode and model.
func (p *Provider) Greet(ctx context.Context, conn agentcli.Conn, req agentcli.Request) (agentcli.Greeting, error) {
	g := &greeter{link: &link{conn: conn}, p: p, req: req}
	err := g.initialize(ctx)
	var s session
	if err == nil {
		// An agent that leaves this unanswered until it has opened a session does not answer what it does not know.
		line, encodeErr := request(ourPrefix+"probe", barrierMethod, struct{}{})
		err = g.send(ctx, line, encodeErr)
	}
	if err == nil {
		s, err = g.open(ctx)
	}
	if err == nil {
		err = g.configure(ctx, s)
	}
	out := agentcli.Greeting{Session: s.SessionID, Notes: g.notes}
	if s.Models != nil {
		out.Model = s.Models.Current
	}
	if err != nil {
		return agentcli.Greeting{}, err
	}
	g.keep.Barrier = g.answersAll()
	if req.Live != nil {
		g.keep.First = req.Live.ID
	}
	out.Keep, err = encode(g.keep)
	return out, err
}

// initialize begins the connection.
func (g *greeter) initialize(ctx context.Context) error {
	refusal, err := g.call(ctx, "initialize", "initialize", map[string]any{
		"protocolVersion": 1,
		"clientCapabilities": map[string]any{
			"fs":       map[string]bool{"readTextFile": g.p.opts.FS, "writeTextFile": g.p.opts.FS && mayChange(g.req)},
			"terminal": g.p.opts.Terminals && mayChange(g.req),
		},
		"clientInfo": map[string]string{"name": "substrat", "title": "Substrat", "version": "1"},
	}, &g.init)
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return failureOf("the agent refuses the connection", refusal)
	case g.init.ProtocolVersion != 1:
		return &agentcli.Failure{Class: substrat.ClassProtocol, Detail: "the agent speaks another version of the Agent Client Protocol than 1"}
	}
	return nil
}

// open gets a session: the one to go on with where the agent can, else a new one. An agent that wants a login first is
// logged in by the method it was given credentials for.
func (g *greeter) open(ctx context.Context) (session, error) {
	s, refusal, err := g.tryOpen(ctx, "")
	if err == nil && refusal != nil && failureOf("", refusal).Class == substrat.ClassAuth {
		if err := g.authenticate(ctx, refusal); err != nil {
			return s, err
		}
		s, refusal, err = g.tryOpen(ctx, "-again")
	}
	if err == nil && refusal != nil {
		err = failureOf("the agent opens no session", refusal)
	}
	if err == nil && s.SessionID == "" {
		err = &agentcli.Failure{Class: substrat.ClassProtocol, Detail: "the agent opened a session without an id"}
	}
	return s, err
}

func (g *greeter) tryOpen(ctx context.Context, again string) (s session, refusal *rpcError, err error) {
	params := map[string]any{"cwd": g.req.Dir, "mcpServers": g.servers()}
	if id := g.req.Session; id != "" {
		s, refusal, err = g.tryResume(ctx, again, params)
		if err != nil || s.SessionID != "" || refusal != nil && mayPass(refusal) {
			return s, refusal, err
		}
		note := "the agent cannot resume sessions"
		if refusal != nil {
			note = "the agent cannot go on in session " + id + " (" + clip(refusal.Message) + ")"
		}
		g.notes = append(g.notes, note+": it begins anew and remembers nothing of before")
	}
	refusal, err = g.call(ctx, "new"+again, "session/new", params, &s)
	if g.req.Live != nil {
		g.keep.Fresh = g.req.Live.ID
	}
	return s, refusal, err
}

// tryResume goes on in the session of the request, by each way that the agent offers until one works. Without any it gives
// neither a session nor a refusal.
func (g *greeter) tryResume(ctx context.Context, again string, opening map[string]any) (s session, refusal *rpcError, err error) {
	var methods []string
	if present(g.init.Capabilities.Session.Resume) {
		methods = append(methods, "session/resume")
	}
	if g.init.Capabilities.LoadSession {
		methods = append(methods, "session/load")
	}
	params := maps.Clone(opening)
	params["sessionId"] = g.req.Session
	for _, method := range methods {
		s = session{}
		refusal, err = g.call(ctx, method+again, method, params, &s)
		if err == nil && refusal != nil {
			if mayPass(refusal) {
				return session{}, refusal, nil
			}
			continue
		}
		s.SessionID = g.req.Session
		if method == "session/load" && err == nil && g.answersAll() {
			err = g.barrier(ctx, "loaded")
		}
		return s, nil, err
	}
	return session{}, refusal, nil
}

// mayPass reports a refusal that says nothing of the session: of the login, or of what will pass. What was said in the session
// is not given up for it.
func mayPass(refusal *rpcError) bool {
	switch failureOf("", refusal).Class {
	case substrat.ClassAuth, substrat.ClassQuota, substrat.ClassRateLimit, substrat.ClassNetwork:
		return true
	}
	return false
}

func (g *greeter) answersAll() bool { return g.others[ourPrefix+"probe"] }

func present(m json.RawMessage) bool {
	return len(m) > 0 && string(m) != "null" && string(m) != "false"
}

// authenticate logs in by the preset's method, or the only one there is.
func (g *greeter) authenticate(ctx context.Context, why *rpcError) error {
	method := g.p.opts.AuthMethod
	var offered []string
	for _, m := range g.init.AuthMethods {
		offered = append(offered, m.ID)
	}
	if method == "" && len(offered) == 1 {
		method = offered[0]
	}
	fail := failureOf("the agent wants a login", why)
	fail.Class = substrat.ClassAuth
	if len(offered) > 0 {
		fail.Detail += " (it offers: " + strings.Join(offered, ", ") + ")"
	}
	if method == "" || len(offered) > 0 && !slices.Contains(offered, method) {
		return fail
	}
	refusal, err := g.call(ctx, "authenticate", "authenticate", map[string]string{"methodId": method}, nil)
	if err == nil && refusal != nil {
		fail = failureOf("the login by "+method+" failed", refusal)
		fail.Class = substrat.ClassAuth
		return fail
	}
	return err
}

// servers lists the MCP servers as the agent takes them. Everyone has to take stdio; HTTP only those that say so.
func (g *greeter) servers() []any {
	out := []any{}
	for _, s := range g.req.MCP {
		switch {
		case s.URL == "":
			args := s.Args
			if args == nil {
				args = []string{}
			}
			out = append(out, stdioServer{s.Name, s.Command, args, pairs(s.Env)})
		case g.init.Capabilities.MCP.HTTP:
			out = append(out, httpServer{"http", s.Name, s.URL, pairs(s.Headers)})
		default:
			g.notes = append(g.notes, "the agent takes no MCP servers over HTTP: "+s.Name+" is left out")
		}
	}
	return out
}

func pairs(m map[string]string) []pair {
	out := []pair{}
	for k, v := range m {
		out = append(out, pair{k, v})
	}
	slices.SortFunc(out, func(a, b pair) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// configure sets mode and model, as far as the agent offers them.
func (g *greeter) configure(ctx context.Context, s session) error {
	if id, ok := g.mode(s.Modes); ok {
		refusal, err := g.call(ctx, "mode", "session/set_mode", map[string]string{"sessionId": s.SessionID, "modeId": id}, nil)
		if err != nil {
			return err
		}
		if refusal != nil {
			g.notes = append(g.notes, "the agent refuses the mode "+id+": "+clip(refusal.Message))
		}
	}
	if g.req.Model == "" || s.Models != nil && s.Models.Current == g.req.Model {
		return nil
	}
	method, params, ok := modelRequest(s, g.req.Model)
	if !ok {
		return &agentcli.Failure{Class: substrat.ClassModel, Detail: "the agent does not offer the model " + g.req.Model + offered(s)}
	}
	params["sessionId"] = s.SessionID
	refusal, err := g.call(ctx, "model", method, params, nil)
	if err == nil && refusal != nil {
		fail := failureOf("the agent refuses the model "+g.req.Model, refusal)
		fail.Class = substrat.ClassModel
		return fail
	}
	return err
}

// mode finds the agent's name for a mode. Ids are tried before names, in the order of what agents are known to use.
func (g *greeter) mode(m *modes) (string, bool) {
	if m == nil || g.p.asksFirst(g.req) {
		return "", false
	}
	var want []string
	switch g.req.Mode {
	case agentcli.ModePlan:
		want = []string{"plan", "architect", "read-only"}
	case agentcli.ModeAsk:
		want = []string{"ask", "read-only", "chat", "plan"}
	case agentcli.ModeForce:
		want = slices.Concat(g.p.opts.ForceModes, []string{"agent", "code"})
		if !g.req.Bare {
			want = slices.Concat(g.p.opts.BoxedModes, want)
		}
	default:
		want = []string{}
	}
	for _, w := range want {
		for _, a := range m.Available {
			if strings.EqualFold(a.ID, w) || strings.EqualFold(a.Name, w) || strings.HasSuffix(strings.ToLower(a.ID), "#"+w) {
				return a.ID, a.ID != m.Current
			}
		}
	}
	return "", false
}

// modelRequest finds the way an agent takes its model.
func modelRequest(s session, model string) (method string, params map[string]string, ok bool) {
	if s.Models != nil {
		for _, m := range s.Models.Available {
			if strings.EqualFold(m.ID, model) || strings.EqualFold(m.Name, model) {
				return "session/set_model", map[string]string{"modelId": m.ID}, true
			}
		}
	}
	for _, o := range s.Options {
		if o.Category != "model" && o.ID != "model" {
			continue
		}
		for _, v := range o.Options {
			if strings.EqualFold(v.Value, model) || strings.EqualFold(v.Name, model) {
				return "session/set_config_option", map[string]string{"configId": o.ID, "value": v.Value}, true
			}
			for _, w := range v.Options {
				if strings.EqualFold(w.Value, model) || strings.EqualFold(w.Name, model) {
					return "session/set_config_option", map[string]string{"configId": o.ID, "value": w.Value}, true
				}
			}
		}
	}
	return "", nil, false
}

func offered(s session) string {
	var names []string
	if s.Models != nil {
		for _, m := range s.Models.Available {
			names = append(names, m.ID)
		}
	}
	if len(names) == 0 {
		return ": it lets nobody choose"
	}
	return "; it offers " + strings.Join(names, ", ")
}
