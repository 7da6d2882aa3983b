package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(f *fake) http.Handler {
	return New(Config{Engine: f, Version: "test", Socket: "/s", MCP: func(_ context.Context, ref string, conn io.ReadWriteCloser) error {
		_, err := io.WriteString(conn, "hello "+ref+"\n")
		return err
	}})
}

// TestRoutes calls every kind of route, with what it refuses. Every refusal is a problem with a code.
func TestRoutes(t *testing.T) {
	cases := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/v1/status", "", 200, `"running":true`},
		{"POST", "/v1/agents", `{"name":"x"}`, 201, `"name":"x"`},
		{"POST", "/v1/agents", `{"name":"lead"}`, 409, `"code":"name_taken"`},
		{"POST", "/v1/agents", `{"name":"x","nonsense":1}`, 422, `"code":"invalid"`},
		{"POST", "/v1/agents", `{"name":`, 400, `"code":"invalid"`},
		{"POST", "/v1/agents", `{"name":"` + strings.Repeat("x", 5<<20) + `"}`, 413, `"code":"too_large"`},
		{"GET", "/v1/agents", "", 200, `"agents":[{`},
		{"GET", "/v1/agents?all=perhaps", "", 422, `"code":"invalid"`},
		{"GET", "/v1/agents/lead", "", 200, `"path":"lead"`},
		{"GET", "/v1/agents/lead%2Fcoder", "", 200, `"path":"lead/coder"`},
		{"GET", "/v1/agents/nobody", "", 404, `"hint":"substrat agent ls"`},
		{"GET", "/v1/agents/lead/inspect", "", 200, `"agent":{`},
		{"GET", "/v1/agents/lead/sandbox", "", 200, `"agent":"lead"`},
		{"POST", "/v1/agents/lead/shell", `{}`, 403, `"code":"forbidden"`},
		{"POST", "/v1/agents/lead/messages", `{"text":"hi"}`, 201, `"message_id":"m1"`},
		{"POST", "/v1/agents/nobody/messages", `{"text":"hi"}`, 404, `"code":"not_found"`},
		{"POST", "/v1/agents/lead/messages", `{}`, 422, `"code":"invalid"`},
		{"POST", "/v1/agents/lead/stop", "", 409, `"code":"conflict"`},
		{"DELETE", "/v1/agents/lead?reason=done", "", 200, `"terminated"`},
		{"DELETE", "/v1/agents/nobody", "", 404, `"code":"not_found"`},
		{"GET", "/v1/agents/lead/turns", "", 200, `"turns":[]`},
		{"GET", "/v1/messages", "", 200, `"messages":[]`},
		{"GET", "/v1/messages/m1", "", 200, `"state":"handled"`},
		{"GET", "/v1/messages/m1/receipt", "", 200, `"message":{`},
		{"GET", "/v1/messages/slow/receipt?wait=10ms", "", 504, `"code":"timeout"`},
		{"GET", "/v1/messages/m1/receipt?wait=never", "", 400, `"code":"invalid"`},
		{"GET", "/v1/turns/none", "", 404, `"code":"not_found"`},
		{"GET", "/v1/events?follow=false&after=1", "", 200, "id: 2\nevent: message.sent\ndata: {"},
		{"GET", "/v1/events?after=x", "", 400, `"code":"invalid"`},
		{"GET", "/v1/agents/lead/stream?from=x", "", 400, `"code":"invalid"`},
		{"GET", "/v1/agents/nobody/stream", "", 404, `"code":"not_found"`},
		{"GET", "/v1/agents/lead/mcp", "", 400, "Upgrade: mcp"},
		{"GET", "/v2/nonsense", "", 404, `"code":"not_found"`},
		{"POST", "/v1/shutdown", `{"mode":"sideways"}`, 422, `"code":"invalid"`},
		{"POST", "/v1/shutdown", `{"mode":"drain"}`, 202, `"stopping"`},
	}
	f := newFake(3)
	h := serve(f)
	for _, c := range cases {
		res := httptest.NewRecorder()
		req := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		if c.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		h.ServeHTTP(res, req)
		if res.Code != c.status || !strings.Contains(res.Body.String(), c.want) {
			t.Errorf("%s %s: %d %.300s, want %d %s", c.method, c.path, res.Code, res.Body, c.status, c.want)
		}
		if kind := res.Header().Get("Content-Type"); c.status >= 400 && kind != "application/problem+json" {
			t.Errorf("%s %s: a refusal as %s", c.method, c.path, kind)
		}
	}
	if f.shutdown != "drain" {
		t.Errorf("shutdown %q", f.shutdown)
	}
	f.storage = true
	res := httptest.NewRecorder()
	req := httptest.NewRequest("POST", "/v1/agents/lead/messages", strings.NewReader(`{"text":"hi"}`))
	req.Header.Set("Content-Type", "application/json")
	if h.ServeHTTP(res, req); res.Code != 507 || !strings.Contains(res.Body.String(), `"code":"storage"`) {
		t.Errorf("a full disk: %d %s", res.Code, res.Body)
	}
}

// TestDocument: the document describes every row of the table.
func TestDocument(t *testing.T) {
	res := httptest.NewRecorder()
	serve(newFake(0)).ServeHTTP(res, httptest.NewRequest("GET", "/v1/openapi.json", nil))
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Access      string `json:"x-access"`
		}
	}
	if err := json.Unmarshal(res.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		op := doc.Paths[r.path][strings.ToLower(r.method)]
		if op.OperationID != r.id || op.Access != string(r.access) {
			t.Errorf("%s %s is described as %+v", r.method, r.path, op)
		}
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %s", doc.OpenAPI)
	}
}

// get opens a stream on a real server and gives its lines.
func get(t *testing.T, srv *httptest.Server, path, lastID string) (*bufio.Scanner, func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	req, err := http.NewRequestWithContext(ctx, "GET", srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", lastID)
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return bufio.NewScanner(res.Body), func() { cancel(); _ = res.Body.Close() }
}

// next reads up to the next id of a stream.
func next(t *testing.T, in *bufio.Scanner) string {
	t.Helper()
	for in.Scan() {
		if id, ok := strings.CutPrefix(in.Text(), "id: "); ok {
			return id
		}
	}
	t.Fatalf("the stream ended: %v", in.Err())
	return ""
}

// TestStreamsResume: a reader that comes back with the last id it saw gets what followed, once.
func TestStreamsResume(t *testing.T) {
	f := newFake(700) // more than one page
	srv := httptest.NewServer(serve(f))
	defer srv.Close()
	in, done := get(t, srv, "/v1/events", "698")
	for _, want := range []string{"699", "700"} {
		if got := next(t, in); got != want {
			t.Errorf("event %s, want %s", got, want)
		}
	}
	f.add()
	if got := next(t, in); got != "701" {
		t.Errorf("event %s came live, want 701", got)
	}
	done()
	in, done = get(t, srv, "/v1/agents/lead/stream", "1.7")
	defer done()
	for _, want := range []string{"1.8", "1.9", "1.10"} {
		if got := next(t, in); got != want {
			t.Errorf("item %s, want %s", got, want)
		}
	}
}

// FuzzAPI: no request makes the API panic or blame itself.
func FuzzAPI(f *testing.F) {
	for _, r := range routes {
		f.Add(r.method, r.path, "{}")
	}
	f.Add("POST", "/v1/agents/%00/messages", `{"text":"\ud800"}`)
	f.Add("GET", "/v1/messages?limit=-1&after=%ff", "")
	h := serve(newFake(3))
	f.Fuzz(func(t *testing.T, method, path, body string) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		req, err := http.NewRequestWithContext(ctx, method, "http://substrat"+path, bytes.NewReader([]byte(body)))
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", "application/json")
		res := httptest.NewRecorder()
		h.ServeHTTP(res, req)
		if res.Code == 500 {
			t.Errorf("%s %q %q: %s", method, path, body, res.Body)
		}
	})
}
