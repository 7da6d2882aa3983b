package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
)

// commandWords makes a command of what was given: one quoted text, or a word for each flag. The program, and the script that
// an interpreter is to run, are named from here and found from the sandbox, so their paths become absolute.
func commandWords(given []string) ([]string, error) {
	words := given
	if len(given) == 1 {
		var err error
		if words, err = splitWords(given[0]); err != nil {
			return nil, err
		}
	}
	out := append([]string(nil), words...)
	for i, w := range out[:min(2, len(out))] {
		st, err := os.Stat(w)
		found := err == nil && st.Mode().IsRegular()
		if i == 0 && !strings.Contains(w, "/") || i == 1 && !found || filepath.IsAbs(w) {
			continue
		}
		if !found {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use the command %s: no such file", w)
		}
		abs, err := filepath.Abs(w)
		if err != nil {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use the command %s: %v", w, err)
		}
		out[i] = abs
	}
	return out, nil
}

// splitWords splits at spaces outside of quotes. A backslash stands for the character after it, but not within single quotes.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, c := range text {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot read the command %q: a quote is not closed", text)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

func (a *app) agentSuspend() *cobra.Command {
	return &cobra.Command{Use: "suspend PATH", Short: "End the resting process of an agent", Args: exactly(1),
		Long: "End the process that an agent keeps between its turns, to free its slot or to load a new version of its program. The next turn\nstarts another, which is told what was before. It is done by itself after a time, and when the slot is wanted.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			done, err := c.Suspend(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(map[string]bool{"suspended": done}, func() {
				if done {
					fmt.Fprintln(a.Out, "suspended "+args[0])
				} else {
					fmt.Fprintln(a.Out, args[0]+" keeps no process between turns")
				}
			})
		}}
}
