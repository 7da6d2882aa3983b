package engine

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/tool"
)

// toolCounts remembers how many tools a server has, by its command or address. A new daemon counts anew.
type toolCounts struct {
	mu    sync.Mutex
	known map[string]int
}

// countTime bounds how long a server may take to list its tools.
const countTime = 20 * time.Second

// tooMany is why a turn does not start: its agent would see more tools than its CLI takes.
type tooMany struct{ error }

func (t tooMany) Unwrap() error { return t.error }

// FailureClass classes it.
func (tooMany) FailureClass() substrat.FailureClass { return substrat.ClassTools }

// addServers gives the turn the configured MCP servers beside our own, and refuses it if the tools of all of them are more
// than the agent's CLI takes: a CLI drops what is over its limit, and nobody would know which.
func (r *runner) addServers(ctx context.Context, a *attempt) error {
	servers := r.e.cfg.Rules.Servers(a.path, a.agent.Role)
	if len(servers) == 0 || !a.provider.Info().MCP {
		return nil
	}
	sum, counts := len(tool.All), []string{fmt.Sprintf("substrat %d", len(tool.All))}
	most := r.e.cfg.Rules.ToolCap(a.agent.Provider)
	if a.keys.missing != nil {
		return a.keys.missing
	}
	for _, s := range servers {
		a.request.MCP = append(a.request.MCP, r.starter(a, s))
		if most <= 0 {
			continue
		}
		n := s.Tools
		if n <= 0 {
			var err error
			if n, err = r.countTools(ctx, a, s); err != nil {
				return tooMany{substrat.Errorf(substrat.CodeInvalid, "cannot count the tools of the MCP server %s: %v", s.Name, err).
					WithHint("say in substrat.toml how many it has: tools = N below [mcp.%s]", s.Name)}
			}
		}
		sum += n
		counts = append(counts, fmt.Sprintf("%s %d", s.Name, n))
	}
	if most > 0 && sum > most {
		return tooMany{substrat.Errorf(substrat.CodeLimit, "%s would see %d tools, and %s takes %d: %s", a.path, sum, a.agent.Provider, most, strings.Join(counts, ", ")).
			WithHint("give a server to fewer agents or roles in substrat.toml")}
	}
	return nil
}

// starter is how the agent's CLI starts a server. One with variables is started by a program of ours that is told them over
// the agent's socket: so they stand in no file and in no argv of a CLI, and in no other process.
func (r *runner) starter(a *attempt, s Server) agentcli.MCPServer {
	if s.URL != "" {
		server := s.MCPServer
		server.Headers = a.keys.headers[s.Name]
		return server
	}
	if len(s.Env) == 0 {
		return s.MCPServer
	}
	p := r.place(a)
	return agentcli.MCPServer{
		Name: s.Name, Command: filepath.Join(p.bin, "substrat-shim"), Args: []string{"mcp", "--serve=" + s.Name},
		Env: map[string]string{"SUBSTRAT_SOCKET": filepath.Join(p.sock, "agent.sock"), "SUBSTRAT_TOKEN_FILE": filepath.Join(p.sock, tokenFile)},
	}
}

// handOver gives bwrap options by a descriptor, which nobody else can read. Done is to be called when the program has ended.
func handOver(cmd *exec.Cmd, options []string) (done func(), err error) {
	if len(options) == 0 {
		return func() {}, nil
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, wrapIO("make a pipe", err)
	}
	cmd.ExtraFiles = []*os.File{from}
	cmd.Args = slices.Insert(cmd.Args, 1, "--args", "3")
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = to.WriteString(strings.Join(options, "\x00") + "\x00") // one that was not read ends with the pipe
		_ = to.Close()
	}()
	return func() { _ = from.Close(); <-written }, nil
}

// countTools asks a server for its tools, once.
func (r *runner) countTools(ctx context.Context, a *attempt, s Server) (int, error) {
	key := fmt.Sprintf("%q %q %q %s", s.URL, s.Command, s.Args, a.agent.Sandbox)
	r.e.toolCounts.mu.Lock()
	n, ok := r.e.toolCounts.known[key]
	r.e.toolCounts.mu.Unlock()
	if ok {
		return n, nil
	}
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	transport, done, err := r.transport(ctx, a, s)
	if err != nil {
		return 0, err
	}
	defer done()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "substrat", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = session.Close() }()
	for _, err := range session.Tools(ctx, nil) {
		if err != nil {
			return 0, err
		}
		n++
	}
	r.e.toolCounts.mu.Lock()
	defer r.e.toolCounts.mu.Unlock()
	if r.e.toolCounts.known == nil {
		r.e.toolCounts.known = map[string]int{}
	}
	r.e.toolCounts.known[key] = n
	return n, nil
}

// transport is how a server is asked; done is to be called when it was. A program runs where the agent's will, and sees no more than
// that; an address, which is the person's own word, is asked from here.
func (r *runner) transport(ctx context.Context, a *attempt, s Server) (t mcp.Transport, done func(), err error) {
	if s.URL != "" {
		client := headed(a.keys.headers[s.Name])
		return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true}, func() {}, nil
	}
	argv, dir, options := append([]string{s.Command}, s.Args...), a.agent.Dir, []string(nil)
	if a.agent.Sandbox == substrat.Bubblewrap {
		profile := r.profile(a, agentcli.Command{}, nil)
		err := r.e.guard(&profile, a.living, a.links, r.holdsFrom(a))
		if err == nil {
			options, err = sandbox.Options(profile)
		}
		if err != nil {
			return nil, nil, err
		}
		if argv, err = sandbox.Wrap(profile, argv); err != nil {
			return nil, nil, err
		}
		dir = "/"
	}
	if a.agent.Sandbox == substrat.Landlock {
		if argv, dir, err = r.confined(a, agentcli.Command{Argv: argv}, dir); err != nil {
			return nil, nil, err
		}
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = r.environment(a, a.keys.launches[s.Name].Env)
	if done, err = handOver(cmd, options); err != nil {
		return nil, nil, err
	}
	return &mcp.CommandTransport{Command: cmd}, done, nil
}

// headed is a client whose requests carry headers. It follows no redirect: the headers are for the address that was configured.
func headed(headers map[string]string) *http.Client {
	return &http.Client{
		Transport:     headedTransport(headers),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// listMost bounds what a server may say of its tools in one answer.
const listMost = 16 << 20

// plainTransport keeps no connection: a server is asked once.
var plainTransport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}

type headedTransport map[string]string

// RoundTrip implements http.RoundTripper.
func (h headedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range h {
		req.Header.Set(name, value)
	}
	resp, err := plainTransport.RoundTrip(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, listMost)
	}
	return resp, err
}

// serverHosts are the hosts of the servers that are addresses.
func serverHosts(servers []agentcli.MCPServer) (hosts []string) {
	for _, s := range servers {
		if host := hostOf(s.URL); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
