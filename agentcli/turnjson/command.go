package turnjson

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// profileVar tells a CLI of the contract which of its accounts to use.
const profileVar = "CURSOR_AGENT_AUTH_PROFILE"

// Command implements agentcli.Provider.
func (p *Provider) Command(req agentcli.Request) (agentcli.Command, error) {
	argv, err := p.argv(req)
	if err != nil {
		return agentcli.Command{}, err
	}
	cmd := agentcli.Command{Argv: argv, Env: maps.Clone(p.o.Env), Network: p.o.Network}
	if cmd.Env == nil {
		cmd.Env = map[string]string{}
	}
	// The program, and the script that an interpreter is given, may lie where a sandbox shows nothing.
	for _, word := range argv[:min(2, len(argv))] {
		if filepath.IsAbs(word) {
			cmd.Exposes = append(cmd.Exposes, agentcli.Expose{Host: word, Optional: true})
		}
	}
	if req.Profile != "" {
		cmd.Env[profileVar] = req.Profile
	}
	if p.o.ModelFlag != "" && req.Model != "" {
		cmd.Argv = append(cmd.Argv, p.o.ModelFlag, req.Model)
	}
	if p.o.ResumeFlag != "" && req.Session != "" {
		cmd.Argv = append(cmd.Argv, p.o.ResumeFlag, req.Session)
	}
	cmd.Argv = append(cmd.Argv, req.Args...)
	if p.o.PromptAsArg {
		return cmd, p.prompt(&cmd, req)
	}
	cmd.Stdin, err = turnLine(req)
	cmd.KeepStdin = p.twoWay()
	return cmd, err
}

// prompt puts the prompt where it can stand.
func (p *Provider) prompt(cmd *agentcli.Command, req agentcli.Request) error {
	prompt := promptText(req)
	if prompt == "" {
		return substrat.Errorf(substrat.CodeInvalid, "cannot run the agent: its prompt is empty")
	}
	if !p.o.NoApproveMCPs {
		cmd.Argv = append(cmd.Argv, "--approve-mcps")
	}
	if !p.o.NoForce && req.Mode != agentcli.ModePlan && req.Mode != agentcli.ModeAsk {
		cmd.Argv = append(cmd.Argv, "--force")
	}
	option := prompt[0] == '-' && !p.o.DashDash
	if req.Secret || option || len(prompt) > argMost || utf8.RuneCountInString(prompt) > p.o.PromptLimit || strings.ContainsRune(prompt, 0) {
		cmd.Stdin = []byte(prompt)
		return nil
	}
	if p.o.DashDash {
		cmd.Argv = append(cmd.Argv, "--")
	}
	cmd.Argv = append(cmd.Argv, prompt)
	return nil
}

// promptText is what a CLI is asked that gets no messages: the last thing the user said, or what the tools it called
// answered. What stands above every turn comes before the first.
func promptText(req agentcli.Request) string {
	if req.Prompt != "" {
		prompt := strings.TrimSpace(req.Prompt)
		if req.Instructions != "" && req.Session == "" && len(req.Messages) == 0 {
			prompt = strings.TrimSpace(req.Instructions) + "\n\n" + prompt
		}
		return prompt
	}
	var answers []string
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := req.Messages[i]
		switch {
		case m.Role == "tool":
			answers = append([]string{"Result of " + strings.TrimSpace(m.Name+" "+m.CallID) + ":\n" + m.Content}, answers...)
		case m.Role == "user" && len(answers) == 0:
			return strings.TrimSpace(m.Content)
		case len(answers) > 0:
			return strings.Join(answers, "\n\n")
		}
	}
	return strings.Join(answers, "\n\n")
}

// turn is the line that gives a CLI its turn.
type turn struct {
	Type     string                 `json:"type"`
	TurnID   string                 `json:"turnId"`
	Messages []agentcli.ChatMessage `json:"messages"`
	Tools    []toolLine             `json:"tools"`
}

type toolLine struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

func turnLine(req agentcli.Request) ([]byte, error) {
	t := turn{Type: "turn", TurnID: turnID(req), Messages: []agentcli.ChatMessage{}, Tools: []toolLine{}}
	if req.Instructions != "" {
		t.Messages = append(t.Messages, agentcli.ChatMessage{Role: "system", Content: req.Instructions})
	}
	t.Messages = append(t.Messages, req.Messages...)
	if req.Prompt != "" {
		t.Messages = append(t.Messages, agentcli.ChatMessage{Role: "user", Content: req.Prompt})
	}
	if len(req.Messages) == 0 && req.Prompt == "" {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot run the agent: there is no message to answer")
	}
	if req.Tools != nil {
		for _, s := range req.Tools.Specs() {
			t.Tools = append(t.Tools, toolLine{s.Name, described(s)})
		}
	}
	line, err := encode(t)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// described is a tool's schema with its description, for which the contract has no other place.
func described(s agentcli.ToolSpec) json.RawMessage {
	if len(s.Schema) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	var members map[string]json.RawMessage
	if s.Description == "" || json.Unmarshal(s.Schema, &members) != nil || members["description"] != nil {
		return s.Schema
	}
	text, err := encode(s.Description)
	if err != nil {
		return s.Schema
	}
	members["description"] = text
	out, err := encode(members)
	if err != nil {
		return s.Schema
	}
	return out
}

// turnID is the turn's name: the one it was given, or one that follows from what it is about, so that all that is said of
// the turn names it alike.
func turnID(req agentcli.Request) string {
	if req.Turn != "" {
		return req.Turn
	}
	var about bytes.Buffer
	for _, m := range append(req.Messages[:len(req.Messages):len(req.Messages)], agentcli.ChatMessage{Content: req.Prompt}) {
		about.WriteString(m.Role + "\x00" + m.Content + "\x00")
	}
	return uuid.NewSHA1(uuid.Nil, about.Bytes()).String()
}

// Interrupt implements agentcli.Interrupter: the contract's cancel, where it can be heard.
func (p *Provider) Interrupt(ctx context.Context, conn agentcli.Conn, req agentcli.Request) error {
	if !p.twoWay() {
		return agentcli.ErrNoStdin
	}
	return write(ctx, conn, struct {
		Type   string `json:"type"`
		TurnID string `json:"turnId"`
	}{"cancel", turnID(req)})
}

func write(ctx context.Context, conn agentcli.Conn, v any) error {
	line, err := encode(v)
	if err != nil {
		return err
	}
	return conn.WriteFrame(ctx, line)
}

// encode makes one line of JSON, with the characters that only HTML minds left as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot encode a line for the agent: %v", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
