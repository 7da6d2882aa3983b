package sim

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// mcpStart bounds the start of a server with its first list of tools, mcpCall one call.
	mcpStart = 30 * time.Second
	mcpCall  = 60 * time.Second
	// mcpQuit is how long a server has to end after its stdin closed, and again after SIGTERM.
	mcpQuit = time.Second
)

// mcpServers are the servers of a turn. None is started before a step needs it.
type mcpServers struct {
	app    *app
	config []mcpServer
	live   map[string]*mcpSession
}

// mcpSession is a running server, or why it does not run.
type mcpSession struct {
	session *mcp.ClientSession
	tools   []*mcp.Tool
	err     error
	// told says that the model has looked its tools up.
	told bool
}

func (a *app) openServers() (*mcpServers, error) {
	config, err := a.mcpConfig()
	if err != nil {
		return nil, err
	}
	return &mcpServers{app: a, config: config, live: map[string]*mcpSession{}}, nil
}

// session gives the running server, started at the first call.
func (m *mcpServers) session(ctx context.Context, s mcpServer) *mcpSession {
	if have := m.live[s.name]; have != nil {
		return have
	}
	fresh := &mcpSession{}
	fresh.err = fresh.start(ctx, m.app, s)
	m.live[s.name] = fresh
	return fresh
}

func (l *mcpSession) start(ctx context.Context, a *app, s mcpServer) error {
	if s.remote() {
		return fmt.Errorf("cannot connect to the MCP server %s: the simulator has no network", s.name)
	}
	command, args, env, dir := s.launch(a.env)
	cmd := exec.Command(command, args...)
	cmd.Env = env.list()
	cmd.Dir = string(a.space)
	if dir != "" {
		cmd.Dir = a.space.resolve(dir)
	}
	if command != "" && filepath.Base(command) == command {
		if found, err := lookPath(command, env["PATH"]); err == nil {
			cmd.Path, cmd.Err = found, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, mcpStart)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "cursor-agent", Version: version}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: mcpQuit}, nil)
	if err != nil {
		return fmt.Errorf("cannot start the MCP server %s: %w", s.name, err)
	}
	l.session = session
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("cannot list the tools of the MCP server %s: %w", s.name, err)
		}
		l.tools = append(l.tools, tool)
	}
	return nil
}

// lookPath finds a program on the PATH the server will have, which need not be this process's.
func lookPath(name, list string) (string, error) {
	for _, dir := range filepath.SplitList(list) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

func (l *mcpSession) tool(name string) *mcp.Tool {
	for _, tool := range l.tools {
		if tool.Name == name {
			return tool
		}
	}
	return nil
}

// close ends all servers at the same time: stdin closed, then SIGTERM, then SIGKILL.
func (m *mcpServers) close() {
	var all sync.WaitGroup
	for _, l := range m.live {
		if l.session != nil {
			all.Go(func() { _ = l.session.Close() }) // a server's exit code changes nothing any more
		}
	}
	all.Wait()
}
