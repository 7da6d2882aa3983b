package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/relay"
	"substrat.dev/substrat/internal/sock"
	"substrat.dev/substrat/internal/tool"
)

func (a *app) toolCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tool [NAME [--json '{…}' | --ARGUMENT VALUE…]]", Short: "Call one of the agents' tools from a shell",
		Long: `Call one of the agents' tools: the same as over MCP, for an agent that has only a shell. Inside an agent's turn it speaks as
that agent; a person names one with --as PATH. The answer is JSON on standard output; a refusal is too, with exit code 1.

Without a name it lists the tools; substrat tool NAME --help tells about one.`,
		Example: `  substrat tool send_message --recipient coder --text "Is it done?"
  substrat tool send_message --json '{"recipient":"coder","text":"Is it done?","sync":false}'
  substrat tool list_children --as lead`,
		// The flags of a call are the tool's arguments: they are known only with its name.
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return a.runTool(cmd, args) },
	}
}

func (a *app) runTool(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		a.listTools()
		return nil
	}
	if args[0] == "--help" || args[0] == "-h" {
		return cmd.Help()
	}
	t := tool.Find(args[0])
	if t == nil {
		return usageError{fmt.Errorf("no tool is called %q; substrat tool lists them", args[0])}
	}
	call, err := parseTool(t, args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		a.explainTool(t)
		return nil
	}
	if err != nil {
		return usageError{err}
	}
	return a.callTool(cmd.Context(), t.Name, call)
}

func (a *app) listTools() {
	var rows [][]string
	for i := range tool.All {
		t := &tool.All[i]
		rows = append(rows, []string{t.Name, firstSentence(t.Prose())})
	}
	a.table(rows)
}

// firstSentence is what a tool does, in a line.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.IndexAny(text, ".:"); i > 0 {
		text = text[:i]
	}
	return text
}

func (a *app) explainTool(t *tool.Tool) {
	fmt.Fprintf(a.Out, "%s\n\nusage: substrat tool %s [--as PATH] [--json '{…}']\n", t.Prose(), t.Name)
	var rows [][]string
	for _, x := range t.Arguments() {
		need := ""
		if x.Required {
			need = " (required)"
		}
		rows = append(rows, []string{"  --" + x.Name, x.Type, x.Text + need})
	}
	a.table(rows)
	fmt.Fprintln(a.Out, "\n"+t.Notes())
}

// toolCall is one call as the command line has it.
type toolCall struct {
	args json.RawMessage
	as   string
}

// parseTool reads a call's flags, which are the arguments of its schema.
func parseTool(t *tool.Tool, args []string) (toolCall, error) {
	f := pflag.NewFlagSet(t.Name, pflag.ContinueOnError)
	f.Usage = func() {}
	f.SetOutput(io.Discard)
	as := f.String("as", "", "")
	whole := f.String("json", "", "")
	known := map[string]tool.Argument{}
	for _, x := range t.Arguments() {
		known[x.Name] = x
		switch x.Type {
		case "boolean":
			f.Bool(x.Name, false, "")
		case "array":
			f.StringArray(x.Name, nil, "")
		default:
			f.String(x.Name, "", "")
		}
	}
	if err := f.Parse(args); err != nil {
		return toolCall{}, err
	}
	if f.NArg() > 0 {
		return toolCall{}, fmt.Errorf("substrat tool %s: %q is no flag", t.Name, f.Arg(0))
	}
	out := map[string]any{}
	if *whole != "" {
		if err := json.Unmarshal([]byte(*whole), &out); err != nil {
			return toolCall{}, fmt.Errorf("substrat tool %s: --json is no JSON object: %w", t.Name, err)
		}
	}
	var wrong error
	f.Visit(func(flag *pflag.Flag) {
		x, ok := known[flag.Name]
		if !ok {
			return
		}
		v, err := toolValue(f, x)
		if err != nil {
			wrong = fmt.Errorf("substrat tool %s: --%s: %w", t.Name, x.Name, err)
		}
		out[x.Name] = v
	})
	data, err := json.Marshal(out)
	return toolCall{args: data, as: *as}, errors.Join(wrong, err)
}

// toolValue reads one flag as the schema wants it. Whether the value is a good one the daemon says.
func toolValue(f *pflag.FlagSet, x tool.Argument) (any, error) {
	switch x.Type {
	case "boolean":
		return f.GetBool(x.Name)
	case "array":
		return f.GetStringArray(x.Name)
	}
	text, err := f.GetString(x.Name)
	if err != nil {
		return nil, err
	}
	switch x.Type {
	case "integer", "number":
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", text)
		}
		return v, nil
	case "object":
		var v map[string]any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return nil, fmt.Errorf("it is no JSON object: %w", err)
		}
		return v, nil
	}
	return text, nil
}

// callTool makes the call over a relay of its own, which repeats it to the next daemon if this one dies before it has
// answered; the daemon knows a repeat.
func (a *app) callTool(ctx context.Context, name string, call toolCall) error {
	o, err := a.toolRelay(ctx, call.as)
	if err != nil {
		return err
	}
	params, err := json.Marshal(map[string]any{"name": name, "arguments": call.args})
	if err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot encode the call: %v", err)
	}
	in, toRelay := io.Pipe()
	fromRelay, out := io.Pipe()
	o.Stdin, o.Stdout = in, out
	ended := make(chan error, 1)
	go func() {
		err := relay.Run(ctx, o)
		_ = out.CloseWithError(io.EOF)
		_ = in.Close()
		ended <- err
	}()
	go func() {
		_, _ = io.WriteString(toRelay, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
			`"clientInfo":{"name":"substrat-tool","version":"1"}}}`+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":`+string(params)+"}\n")
	}()
	answer, refused, err := readAnswer(fromRelay)
	_ = toRelay.Close()
	if relayErr := <-ended; err != nil {
		return substrat.Errorf(substrat.CodeUnavailable, "cannot call %s: %v", name, errors.Join(err, relayErr))
	}
	fmt.Fprintln(a.Out, answer)
	if refused {
		a.refusal(answer)
		return failed{errors.New("refused")}
	}
	return nil
}

// toolRelay says how to reach the tools: inside a turn by the agent's own socket, as a person over the control socket.
func (a *app) toolRelay(ctx context.Context, as string) (relay.Options, error) {
	if as == "" {
		socket := a.Getenv("SUBSTRAT_SOCKET")
		if socket == "" {
			return relay.Options{}, usageError{errors.New("this is no agent's turn: name the agent to speak as with --as PATH")}
		}
		token := a.Getenv("SUBSTRAT_TOKEN")
		if path := a.Getenv("SUBSTRAT_TOKEN_FILE"); path != "" {
			data, err := os.ReadFile(path)
			if err != nil {
				return relay.Options{}, substrat.Errorf(substrat.CodeForbidden, "cannot read the turn's token: %v", err)
			}
			token = string(data)
		}
		return relay.Options{Token: token, Dial: func(ctx context.Context) (io.ReadWriteCloser, error) { return sock.Dial(ctx, socket) }}, nil
	}
	c, err := a.client()
	if err != nil {
		return relay.Options{}, err
	}
	x, err := c.Agent(ctx, as)
	if err != nil {
		return relay.Options{}, err
	}
	return relay.Options{Dial: relay.DialUpgrade(c.Dial, "/v1/agents/"+url.PathEscape(x.ID)+"/mcp")}, nil
}

// readAnswer waits for the answer to the call.
func readAnswer(r io.Reader) (answer string, refused bool, err error) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return "", false, errors.New("the daemon did not answer")
		}
		var m struct {
			ID     json.RawMessage
			Error  *struct{ Message string }
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if json.Unmarshal(line, &m) != nil || !slices.Contains([]string{"1", "2", "null"}, string(m.ID)) {
			continue
		}
		switch {
		case m.Error != nil:
			return "", false, errors.New(m.Error.Message)
		case string(m.ID) == "2" && len(m.Result.Content) > 0:
			return m.Result.Content[0].Text, m.Result.IsError, nil
		}
	}
}

// refusal tells on standard error, in words, what the JSON says.
func (a *app) refusal(answer string) {
	var refused struct{ Error substrat.Error }
	if json.Unmarshal([]byte(answer), &refused) == nil {
		fmt.Fprintln(a.Err, "substrat:", printable(refused.Error.Message))
		if refused.Error.Hint != "" {
			fmt.Fprintln(a.Err, "hint:", printable(refused.Error.Hint))
		}
	}
}
