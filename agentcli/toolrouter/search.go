package toolrouter

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"

	"substrat.dev/substrat"
)

// SearchOptions are for Search.
type SearchOptions struct {
	// Endpoint is where to ask, with {query} where the words go: https://search.example/search?q={query}&format=json. It is
	// its user's choice and may be local. It answers with JSON that holds a list of results, or with a page of links.
	Endpoint string
	// Headers go with each request: a key of the service.
	Headers map[string]string
	// Timeout is by default 10 seconds, Results by default 12.
	Timeout time.Duration
	Results int
}

// Found is one result.
type Found struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet,omitempty"`
}

const searchSchema = `{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":1000,"description":"search terms"}},"required":["query"],"additionalProperties":false}`

// Search gives the tools web_search and mcp_web_search, which are one.
func Search(o SearchOptions) []Tool {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Results <= 0 {
		o.Results = 12
	}
	client := &http.Client{Timeout: o.Timeout}
	return named(Tool{
		Description: "Search the web. Answers with titles, addresses and snippets.", Schema: json.RawMessage(searchSchema), Timeout: o.Timeout + time.Second,
		Run: func(ctx context.Context, args json.RawMessage) (any, error) {
			var in struct{ Query string }
			if err := json.Unmarshal(args, &in); err != nil {
				return nil, err
			}
			return search(ctx, client, o, in.Query)
		},
	}, "web_search", "mcp_web_search")
}

type searchAnswer struct {
	Results []Found `json:"results"`
	Notice  string  `json:"notice"`
}

func search(ctx context.Context, client *http.Client, o SearchOptions, query string) (any, error) {
	if o.Endpoint == "" {
		return nil, substrat.Errorf(substrat.CodeUnsupported, "cannot search the web: no search endpoint is configured").
			WithHint("set one with {query} in it, such as the address of a SearXNG with format=json")
	}
	if !strings.Contains(o.Endpoint, "{query}") {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot search the web: the configured endpoint has no {query} in it")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.ReplaceAll(o.Endpoint, "{query}", url.QueryEscape(query)), nil)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot search the web: the configured endpoint is no address")
	}
	req.Header.Set("Accept", "application/json, text/html;q=0.8")
	for k, v := range o.Headers {
		req.Header.Set(k, v)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fetchError(req.URL, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return nil, fetchError(req.URL, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, substrat.Errorf(substrat.CodeUnavailable, "cannot search the web: %s answered %s", req.URL.Host, resp.Status)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var found []Found
	if trimmed := strings.TrimSpace(string(body)); strings.HasSuffix(kind, "json") || strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, substrat.Errorf(substrat.CodeUnsupported, "cannot search the web: %s answered with JSON that cannot be read", req.URL.Host)
		}
		found = resultsIn(v, 0)
	} else {
		text, err := decode(body, resp.Header.Get("Content-Type"))
		if err != nil {
			return nil, substrat.Errorf(substrat.CodeUnsupported, "cannot search the web: %s answered with what is no text", req.URL.Host)
		}
		found = linksIn(text, req.URL)
	}
	return searchAnswer{Results: append([]Found{}, found[:min(len(found), o.Results)]...), Notice: untrusted}, nil
}

// The names that services give to a result's parts.
var (
	titleKeys   = []string{"title", "name", "Text", "heading"}
	urlKeys     = []string{"url", "link", "href", "FirstURL"}
	snippetKeys = []string{"snippet", "content", "description", "abstract", "body", "text"}
)

// resultsIn finds the first list of results in an answer of any service: objects with an address and a title.
func resultsIn(v any, depth int) []Found {
	if depth > 6 {
		return nil
	}
	switch v := v.(type) {
	case []any:
		var out []Found
		for _, e := range v {
			m, _ := e.(map[string]any)
			f := Found{Title: clip(first(m, titleKeys), 300), URL: clip(first(m, urlKeys), 2000), Snippet: clip(first(m, snippetKeys), 400)}
			if strings.HasPrefix(f.URL, "http://") || strings.HasPrefix(f.URL, "https://") {
				out = append(out, f)
			}
		}
		return out
	case map[string]any:
		for _, key := range []string{"results", "items", "organic", "organic_results", "web", "webPages", "value", "data", "hits", "RelatedTopics"} {
			if out := resultsIn(v[key], depth+1); len(out) > 0 {
				return out
			}
		}
	}
	return nil
}

func first(m map[string]any, keys []string) string {
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			_, plain := readHTML(s)
			return plain
		}
	}
	return ""
}

// linksIn gives the links of a page that lead elsewhere, each address once.
func linksIn(page string, from *url.URL) []Found {
	var out []Found
	seen := map[string]bool{}
	z := html.NewTokenizer(strings.NewReader(page))
	href, text := "", ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.StartTagToken:
			if name, attrs := z.TagName(); string(name) == "a" && attrs {
				href, text = target(z, from), ""
			}
		case html.TextToken:
			if href != "" {
				text += string(z.Text())
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if title := strings.Join(strings.Fields(text), " "); string(name) == "a" && href != "" {
				if title != "" && !seen[href] {
					seen[href] = true
					out = append(out, Found{Title: clip(title, 300), URL: href})
				}
				href = ""
			}
		}
	}
}

// target is where a link leads, if that is another host. Services wrap it in a parameter of their own.
func target(z *html.Tokenizer, from *url.URL) string {
	for {
		key, value, more := z.TagAttr()
		if string(key) == "href" {
			u, err := from.Parse(string(value))
			if err != nil {
				return ""
			}
			for _, p := range []string{"uddg", "q", "url", "u"} {
				if inner := u.Query().Get(p); strings.HasPrefix(inner, "http://") || strings.HasPrefix(inner, "https://") {
					return clip(inner, 2000)
				}
			}
			if u.Host == from.Host || u.Scheme != "http" && u.Scheme != "https" {
				return ""
			}
			return clip(u.String(), 2000)
		}
		if !more {
			return ""
		}
	}
}
