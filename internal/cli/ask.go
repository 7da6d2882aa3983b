package cli

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/render"
)

// askTerminal puts what an agent asks to whoever sits at the terminal. An empty line skips.
func (a *app) askTerminal(ctx context.Context, q agentcli.Question) (agentcli.Answer, error) {
	answer := agentcli.Answer{ID: q.ID, Outcome: agentcli.Skipped, Choices: map[string][]string{}}
	if q.Title != "" {
		fmt.Fprintln(a.Err, "?", render.OneLine(q.Title, 400))
	}
	if q.Text != "" {
		fmt.Fprintln(a.Err, printable(q.Text))
	}
	for _, p := range q.Prompts {
		if p.Prompt != "" && p.Prompt != q.Title {
			fmt.Fprintln(a.Err, "?", render.OneLine(p.Prompt, 400))
		}
		for i, o := range p.Options {
			fmt.Fprintf(a.Err, "  %d. %s\n", i+1, render.OneLine(o.Label, 200))
		}
		line, err := a.typed(ctx, p)
		if err != nil {
			return answer, err
		}
		chosen, text := choose(p, line)
		if len(chosen) > 0 {
			answer.Choices[p.ID], answer.Outcome = chosen, agentcli.Answered
		}
		if text != "" {
			answer.Text, answer.Outcome = text, agentcli.Answered
		}
	}
	return answer, nil
}

// typed reads one line. A read of a terminal cannot be interrupted: when ctx ends first, it ends with the process.
func (a *app) typed(ctx context.Context, p agentcli.QuestionPrompt) (string, error) {
	how := "your answer: "
	if len(p.Options) > 0 {
		how = "number: "
		if p.Multiple {
			how = "numbers: "
		}
	}
	fmt.Fprint(a.Err, how)
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.In).ReadString('\n')
		lines <- strings.TrimSpace(line)
	}()
	select {
	case line := <-lines:
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// choose reads numbers of options, else a text.
func choose(p agentcli.QuestionPrompt, line string) (ids []string, text string) {
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(p.Options) || !p.Multiple && len(ids) == 1 {
			return nil, line
		}
		ids = append(ids, p.Options[n-1].ID)
	}
	return ids, ""
}
