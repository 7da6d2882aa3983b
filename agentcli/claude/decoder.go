package claude

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headless"
)

// Decoder turns the lines of one stream-json stream into events. It is for one goroutine and one stream.
type Decoder struct {
	*headless.Stream
	message streamed
	// rejected are the calls that were not allowed, by id, with what was said.
	rejected map[string]string
	// limit is what the CLI told of a limit that was reached.
	limit string
}

// NewDecoder makes a decoder. Streams with and without --include-partial-messages are told apart by what they hold.
func NewDecoder() *Decoder {
	d := &Decoder{rejected: map[string]string{}}
	d.Stream = headless.NewStream(d.decode)
	return d
}

// types are the frames that occur all the time.
var types = []string{"stream_event", "assistant", "user", "system", "result", "rate_limit_event", "tool_progress"}

func (d *Decoder) decode(f headless.Object) error {
	if t := f.Str("timestamp"); t != "" {
		if at, err := time.Parse(time.RFC3339, t); err == nil {
			d.TimeMS = at.UnixMilli()
		}
	}
	switch typ := f.Word("type", types...); typ {
	case "stream_event":
		return d.partial(f)
	case "assistant":
		return d.assistant(f)
	case "user":
		return d.user(f)
	case "system":
		return d.system(f)
	case "result":
		return d.terminal(f)
	case "rate_limit_event":
		return d.rateLimit(f.Object("rate_limit_info"))
	case "tool_progress":
		c, running := d.Running(f.Str("tool_use_id"))
		if !running {
			return d.Notice("a tool goes on")
		}
		return d.Update(c)
	default:
		return d.Unknown(typ, f.Str("subtype"))
	}
}

func (d *Decoder) system(f headless.Object) error {
	switch sub := f.Word("subtype", "status", "init", "api_retry"); sub {
	case "init":
		return d.Session(f.Str("session_id"), f.Str("model"))
	case "status":
		if what := f.Str("status"); what != "" && what != "requesting" {
			return d.Notice("status " + what)
		}
		return nil
	case "api_retry":
		return d.retry(f)
	case "permission_denied":
		if c, running := d.Running(f.Str("tool_use_id")); running {
			d.rejected[c.ID] = f.Str("message")
		}
		return d.Notice(f.Str("message"))
	case "compact_boundary":
		return d.Notice("the conversation was compacted")
	default:
		return d.Notice(strings.TrimSpace("system " + sub + " " + f.Str("description", "message", "content", "text", "status")))
	}
}

// retry tells that a request to the model is made again. What was streamed of the message it was for comes again, too.
func (d *Decoder) retry(f headless.Object) error {
	text := "the model is asked again, attempt " + strconv.FormatInt(f.Int("attempt"), 10)
	if why := strings.TrimSpace(strconv.FormatInt(f.Int("error_status"), 10) + " " + f.Str("error")); f.Int("error_status") != 0 {
		text += ": " + why
	}
	if d.message.unconfirmed() {
		return d.startOver(text)
	}
	return d.Send(agentcli.Event{Type: agentcli.EventRetry, Text: text})
}

// rateLimit tells of the account's limits. One that was reached explains the failure that follows.
func (d *Decoder) rateLimit(info headless.Object) error {
	status, kind := info.Str("status"), info.Str("rateLimitType")
	text := strings.TrimSpace("rate limit " + kind + " " + status)
	if at := info.Int("resetsAt"); at > 0 {
		text += ", resets at " + time.Unix(at, 0).UTC().Format(time.RFC3339)
	}
	if status == "rejected" {
		d.limit = text
	}
	return d.Notice(text)
}

// user handles the results of tools, and what is said in the user's name.
func (d *Decoder) user(f headless.Object) error {
	content := f.Object("message").Get("content")
	if len(content) > 0 && content[0] == '"' {
		return d.said(f, headless.Str(content))
	}
	for _, part := range headless.Elements(content) {
		p := headless.ObjectOf(part)
		var err error
		switch p.Word("type", "tool_result", "text") {
		case "tool_result":
			err = d.toolResult(p, f)
		case "text":
			err = d.said(f, p.Str("text"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) said(f headless.Object, text string) error {
	if f.Get("parent_tool_use_id") != nil {
		return d.Notice("to a subagent: " + text)
	}
	return d.Send(agentcli.Event{Type: agentcli.EventUser, Text: text})
}

// terminal ends the turn. An API failure is a success with is_error beside it.
func (d *Decoder) terminal(f headless.Object) error {
	said, sub := f.Str("result"), f.Str("subtype")
	failed := f.Bool("is_error") || sub != "" && sub != "success"
	if !failed && !d.HasText() {
		if err := d.Text(said); err != nil {
			return err
		}
	}
	r := &d.Result
	r.DurationMS, r.CostUSD, r.Usage = f.Int("duration_ms"), cost(f), usage(f.Object("usage"))
	if s := f.Str("session_id"); s != "" {
		r.Session = s
	}
	if !failed {
		return d.Terminal(substrat.Completed)
	}
	for _, e := range headless.Elements(f.Get("errors")) {
		said = strings.TrimSpace(said + "\n" + headless.Str(e))
	}
	r.Class, r.Detail = d.class(f, sub, said)
	return d.Terminal(substrat.FailedTurn)
}

// class finds why a turn failed: by what the CLI says it was, and else by its words.
func (d *Decoder) class(f headless.Object, sub, said string) (substrat.FailureClass, string) {
	if said == "" {
		said = "the turn ended with " + sub
	}
	if d.limit != "" {
		return substrat.ClassQuota, failures.Detail(said+" ("+d.limit+")", substrat.ClassQuota)
	}
	byText, detail := failures.Classify(said, "")
	if byText == substrat.ClassQuota || byText == substrat.ClassSession {
		return byText, detail
	}
	class := byText
	switch status := f.Int("api_error_status"); {
	case sub == "error_max_budget_usd":
		class = substrat.ClassQuota
	case status == 401 || status == 403:
		class = substrat.ClassAuth
	case status == 429 || status == 529:
		class = substrat.ClassRateLimit
	case status == 404:
		class = substrat.ClassModel
	case status >= 500 || f.Str("api_error") == "connection_failed":
		class = substrat.ClassNetwork
	case class == "":
		class = substrat.ClassAgent
	}
	return class, failures.Detail(said, class)
}

// cost is what the turn cost. In a conversation that was resumed the total counts the earlier turns too; later versions
// tell beside it what came since.
func cost(f headless.Object) float64 {
	since := f.Get("model_usage_since_last_result")
	if since == nil {
		return headless.Float(f.Get("total_cost_usd"))
	}
	sum := 0.0
	for _, model := range headless.ObjectOf(since) {
		sum += headless.Float(headless.ObjectOf(model.Value).Get("costUSD"))
	}
	return sum
}

// usage reads the tokens of a turn. What was read from the cache is not part of the input.
func usage(u headless.Object) *substrat.Usage {
	if u == nil {
		return nil
	}
	return &substrat.Usage{
		InputTokens: u.Int("input_tokens"), OutputTokens: u.Int("output_tokens"),
		CacheReadTokens: u.Int("cache_read_input_tokens"), CacheWriteTokens: u.Int("cache_creation_input_tokens"),
	}
}

// parts gives the content of a message as parts, also where it is one string.
func parts(v jsontext.Value) []headless.Object {
	var out []headless.Object
	for _, part := range headless.Elements(v) {
		out = append(out, headless.ObjectOf(part))
	}
	return out
}
