package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// TestCountToolsOverHTTP: a server with an address is asked once, with its headers, and they go nowhere else.
func TestCountToolsOverHTTP(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, nil)
	for n := range 3 {
		mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprint("tool", n)}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	}
	var asked, leaked atomic.Int32
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked.Add(1)
		if q.Header.Get("Authorization") != "Bearer t" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, q)
	}))
	defer s.Close()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "" {
			leaked.Add(1)
		}
	}))
	defer elsewhere.Close()
	away := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer away.Close()

	r, a := &runner{e: &Engine{}}, &attempt{}
	a.keys.headers = map[string]map[string]string{"tracker": {"Authorization": "Bearer t"}, "away": {"Authorization": "Bearer t"}}
	good := Server{MCPServer: agentcli.MCPServer{Name: "tracker", URL: s.URL}}
	n, err := r.countTools(t.Context(), a, good)
	if err != nil || n != 3 {
		t.Fatalf("%d, %v", n, err)
	}
	before := asked.Load()
	if n, err = r.countTools(t.Context(), a, good); err != nil || n != 3 || asked.Load() != before {
		t.Errorf("asked again: %d, %v", n, err)
	}
	other := good
	other.Name, other.URL = "unnamed", s.URL+"/"
	if n, err = r.countTools(t.Context(), a, other); err == nil || strings.Contains(err.Error(), "Bearer") {
		t.Errorf("without a login: %d, %v", n, err)
	}
	other = good
	other.Name, other.URL = "away", away.URL
	if n, err = r.countTools(t.Context(), a, other); err == nil || leaked.Load() > 0 {
		t.Errorf("sent elsewhere: %d, %v, %d", n, err, leaked.Load())
	}
}

// TestServerHosts: the door lets through to the servers that the person named, and to no other port of theirs.
func TestServerHosts(t *testing.T) {
	a := &attempt{walls: Walls{}}
	a.living.Network, a.agent.Sandbox = substrat.NetworkDoor, substrat.Bubblewrap
	a.request.MCP = []agentcli.MCPServer{{Command: "/bin/x"}, {URL: "https://Tracker.example.com/mcp"}, {URL: "http://[::1]:8080/mcp"}}
	got := (&runner{}).door(a, agentcli.Command{}, nil).Allow
	if want := []string{"tracker.example.com", "[::1]:8080"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
