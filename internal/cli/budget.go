package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
)

func (a *app) budgetCommand() *cobra.Command {
	return group("budget", "Show and set what agents may use", a.budgetShow(), a.budgetSet())
}

func (a *app) budgetShow() *cobra.Command {
	return &cobra.Command{Use: "show PATH", Short: "Show what an agent used, and its budgets", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			x, err := c.Agent(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			view := map[string]any{"agent": x.Path, "spent": x.Spent, "spent_below": x.SpentBelow, "budgets": x.Budgets}
			return a.show(view, func() { a.budgetLines(x) })
		}}
}

func (a *app) budgetLines(x substrat.Agent) {
	rows := [][]string{{"", "TURNS", "TIME", "TOKENS", "COST"}}
	for _, s := range []struct {
		name string
		*substrat.Spent
	}{{"itself", x.Spent}, {"with all under it", x.SpentBelow}} {
		if s.Spent == nil {
			s.Spent = &substrat.Spent{}
		}
		cost := dollars(s.CostMicros)
		if s.Unpriced > 0 {
			cost += fmt.Sprintf(" (%d turns not priced)", s.Unpriced)
		}
		took := (time.Duration(s.WallMS) * time.Millisecond).Round(time.Second).String()
		rows = append(rows, []string{s.name, fmt.Sprint(s.Turns), took, fmt.Sprint(s.Tokens), cost})
	}
	a.table(rows)
	for _, b := range x.Budgets {
		fmt.Fprintln(a.Out, "budget: "+describeBudget(b))
	}
	if len(x.Budgets) == 0 {
		fmt.Fprintln(a.Out, "no budget of its own")
	}
}

func dollars(micros int64) string { return fmt.Sprintf("$%.2f", float64(micros)/1e6) }

func describeBudget(b substrat.Budget) string {
	var parts []string
	if b.Turns > 0 {
		parts = append(parts, fmt.Sprintf("%d turns", b.Turns))
	}
	if b.WallSeconds > 0 {
		parts = append(parts, (time.Duration(b.WallSeconds) * time.Second).String())
	}
	if b.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", b.Tokens))
	}
	if b.CostMicros > 0 {
		parts = append(parts, dollars(b.CostMicros))
	}
	return fmt.Sprintf("%s (%s, %s)", strings.Join(parts, ", "), b.Scope, b.Period)
}

func (a *app) budgetSet() *cobra.Command {
	cmd := &cobra.Command{Use: "set PATH", Short: "Set an agent's budget", Args: exactly(1),
		Long: `Set an agent's budget in place of those it has; what was used stays counted. You are warned at four fifths. When it is used up no
new turn starts, and "substrat queue" asks whether to extend it by the same amount; a daily budget begins anew at midnight UTC.
Without any measure the agent has no budget of its own.`,
		Example: "  substrat budget set lead --turns 200 --cost 5 --daily\n  substrat budget set lead/coder --tokens 1000000 --alone"}
	f := cmd.Flags()
	turns := f.Int("turns", 0, "how many turns")
	wall := f.Duration("time", 0, "how long all turns together may take")
	tokens := f.Int64("tokens", 0, "how many tokens, input and output")
	cost := f.Float64("cost", 0, "how many dollars, where prices are known")
	daily := f.Bool("daily", false, "each day anew")
	alone := f.Bool("alone", false, "the agent alone, not what is under it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		b := substrat.Budget{
			Scope: substrat.ScopeSubtree, Period: substrat.PeriodTotal, Turns: *turns, WallSeconds: int64(wall.Seconds()), Tokens: *tokens,
			CostMicros: int64(*cost * 1e6),
		}
		if *daily {
			b.Period = substrat.PeriodDay
		}
		if *alone {
			b.Scope = substrat.ScopeAgent
		}
		var list []substrat.Budget
		if b.Turns != 0 || b.WallSeconds != 0 || b.Tokens != 0 || b.CostMicros != 0 {
			list = append(list, b)
		}
		x, err := c.SetBudgets(cmd.Context(), args[0], list)
		if err != nil {
			return err
		}
		return a.show(x, func() { a.budgetLines(x) })
	}
	return cmd
}
