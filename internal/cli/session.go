package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/providers"
	"substrat.dev/substrat/internal/render"
)

func (a *app) sessionCommand() *cobra.Command {
	return group("session", "List, show and take over the conversations that agent CLIs keep", a.sessionList(), a.sessionShow(), a.sessionImport())
}

// sessionFlags say whose sessions are meant.
type sessionFlags struct{ provider, dir, command string }

func (f *sessionFlags) add(cmd *cobra.Command, dir string) {
	cmd.Flags().StringVar(&f.provider, "provider", "", "whose sessions: cursor, claude, codex, gemini (default all); one that speaks ACP is started and asked")
	cmd.Flags().StringVar(&f.command, "command", "", "the command of the provider acp")
	cmd.Flags().StringVar(&f.dir, dir, "", "only those held in this directory")
}

// historians gives the readers, and where they are to look.
func (a *app) historians(f sessionFlags) ([]providers.Historian, agentcli.HistoryOptions, error) {
	list, err := providers.Historians(providers.All(a.Getenv, "cursor-agent"), f.provider)
	if err != nil {
		return nil, agentcli.HistoryOptions{}, usageError{err}
	}
	o := agentcli.HistoryOptions{Home: a.Getenv("HOME"), Getenv: a.Getenv}
	if o.Dir, err = absolute(f.dir); err != nil {
		return nil, o, err
	}
	if wd, err := os.Getwd(); err == nil {
		o.Candidates = append(o.Candidates, wd)
	}
	return list, o, nil
}

func (a *app) sessionList() *cobra.Command {
	var f sessionFlags
	cmd := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List stored conversations, the latest first", Args: exactly(0),
		Long: "List the conversations that agent CLIs keep in the user's home, the latest first. It reads their files and changes nothing, also\nwhile the CLI writes them; it needs no daemon. With --provider of one that speaks ACP that is started and asked.",
	}
	f.add(cmd, "dir")
	limit := cmd.Flags().IntP("limit", "n", 0, "how many at the most")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if told, ok, err := a.toldSessions(cmd.Context(), f); err != nil {
			return err
		} else if ok {
			return a.show(told, func() { a.sessionTable(told) })
		}
		list, o, err := a.historians(f)
		if err != nil {
			return err
		}
		out := []agentcli.StoredSession{}
		var broken error
		for _, h := range list {
			found, err := h.Sessions(cmd.Context(), o)
			if err != nil && broken == nil {
				broken = err // what the others keep is shown all the same
			}
			out = append(out, found...)
		}
		slices.SortStableFunc(out, func(x, y agentcli.StoredSession) int { return y.UpdatedAt.Compare(x.UpdatedAt) })
		if *limit > 0 {
			out = out[:min(len(out), *limit)]
		}
		if broken != nil && len(out) == 0 {
			return broken
		}
		return errors.Join(a.show(out, func() { a.sessionTable(out) }), broken)
	}
	return cmd
}

// toldSessions asks the provider's own process, for one whose files cannot be read.
func (a *app) toldSessions(ctx context.Context, f sessionFlags) (list []agentcli.StoredSession, ok bool, err error) {
	if f.provider == "" {
		return nil, false, nil
	}
	p, clear, err := a.chooseProvider(ctx, f.provider)
	if err != nil {
		return nil, false, nil // who reads the files says what there is
	}
	defer clear()
	teller, ok := p.(agentcli.Teller)
	if _, reads := p.(agentcli.Historian); !ok || reads {
		return nil, false, nil
	}
	list, err = agentcli.Sessions(ctx, teller, agentcli.Options{Dir: f.dir, Environ: os.Environ(), Program: strings.Fields(f.command)})
	return list, err == nil, err
}

func (a *app) sessionTable(list []agentcli.StoredSession) {
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "no sessions")
		return
	}
	rows := [][]string{{"SESSION", "PROVIDER", "USED", "DIR", "TITLE"}}
	for _, s := range list {
		used, title := "", oneLine(s.Title, 60)
		if !s.UpdatedAt.IsZero() {
			used = age(s.UpdatedAt) + " ago"
		}
		if s.Problem != "" {
			title = oneLine("("+s.Problem+")", 100)
		}
		rows = append(rows, []string{printable(s.ID), s.Provider, used, oneLine(s.Dir, 50), title})
	}
	a.table(rows)
}

// loadSession finds a session with one of the readers, and gives its messages.
func (a *app) loadSession(ctx context.Context, f sessionFlags, id string, yield func(agentcli.Message) error) (agentcli.StoredSession, error) {
	list, o, err := a.historians(f)
	if err != nil {
		return agentcli.StoredSession{}, err
	}
	if st, err := os.Stat(id); err == nil && !st.IsDir() {
		if id, err = absolute(id); err != nil {
			return agentcli.StoredSession{}, err
		}
		if f.provider == "" {
			return agentcli.StoredSession{}, usageError{errors.New("a file is no session id: --provider says whose file it is")}
		}
	}
	var missing error
	for _, h := range list {
		s, err := h.Load(ctx, o, id, yield)
		if s.Provider == "" && substrat.CodeOf(err) == substrat.CodeNotFound {
			missing = err
			continue
		}
		return s, err
	}
	if len(list) > 1 {
		missing = substrat.Errorf(substrat.CodeNotFound, "no session %.120q", id).WithHint("substrat session ls shows what is there")
	}
	return agentcli.StoredSession{}, missing
}

func (a *app) sessionShow() *cobra.Command {
	var f sessionFlags
	cmd := &cobra.Command{Use: "show ID", Short: "Show a stored conversation", Args: exactly(1),
		Long: `Show a conversation that an agent CLI keeps: what the user wrote, what the agent did and said. The beginning of an id is enough
where it fits one. --json prints the messages, one a line, with the CLI's own records, and the session's data last.`,
	}
	f.add(cmd, "dir")
	full := cmd.Flags().Bool("full", false, "outputs and changes at full length, and reasoning")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v := &sessionView{app: a, out: a.transcript(render.Options{Full: *full}), full: *full}
		s, err := a.loadSession(cmd.Context(), f, args[0], v.message)
		if v.turns > 0 {
			_ = a.show(nil, func() { v.out.Pause("no result") })
		}
		if err != nil {
			return err
		}
		return a.show(map[string]any{"session": s}, func() {
			note := fmt.Sprintf("%s session %s, %s", s.Provider, s.ID, count(s.Messages, "message"))
			if s.Dir != "" {
				note += ", in " + s.Dir
			}
			if s.Problem != "" {
				note += "; " + s.Problem
			}
			v.out.Note(note)
		})
	}
	return cmd
}

// sessionView shows messages as turns: each begins with what the user wrote.
type sessionView struct {
	*app
	out   *render.Transcript
	full  bool
	turns int
}

func (v *sessionView) message(m agentcli.Message) error {
	return v.show(m, func() {
		switch {
		case m.Role == agentcli.RoleUser && !m.Context:
			if v.turns > 0 {
				v.out.Pause("no result")
			}
			v.turns++
			text := m.Text()
			for _, b := range m.Blocks {
				if b.Type == agentcli.BlockImage {
					text += fmt.Sprintf("\n[image %s, %d bytes]", b.MediaType, b.Bytes)
				}
			}
			v.out.Started(substrat.Turn{Number: v.turns, StartedAt: m.Time}, []substrat.Message{{From: substrat.User, Kind: substrat.KindUser, Text: text}})
		case m.Role == agentcli.RoleAssistant || m.Role == agentcli.RoleTool:
			for _, e := range m.Events() {
				v.out.Event(e)
			}
		case v.full:
			v.out.Note(string(m.Role) + ": " + m.Text())
		}
	})
}

func (a *app) sessionImport() *cobra.Command {
	var f sessionFlags
	var n substrat.NewAgent
	var sandbox string
	cmd := &cobra.Command{Use: "import ID", Short: "Make an agent that goes on with a stored conversation", Args: exactly(1),
		Long: `Make an agent in the daemon that goes on with a conversation that an agent CLI keeps. The agent gets a copy; the CLI's own stays as
it is, and may go on by itself. The agent works where the conversation was held, unless --workspace says where.`,
		Example: "  substrat session ls --dir ~/src/project\n  substrat session import 0bae1f09 --name fixer --parent lead",
	}
	fl := cmd.Flags()
	fl.StringVar(&f.provider, "provider", "", "whose session: cursor, claude, codex, gemini, sim (default the one that has it)")
	fl.StringVar(&n.Name, "name", "", "the agent's name (default session-ID)")
	fl.StringVar(&n.Parent, "parent", "", "the agent it is under")
	fl.StringVar(&n.Dir, "workspace", "", "the directory it works in")
	fl.StringVar(&n.Model, "model", "", "the model its provider is to use")
	fl.StringVar(&sandbox, "sandbox", "", "bwrap (default), landlock or none")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.loadSession(cmd.Context(), f, args[0], func(agentcli.Message) error { return nil })
		if err != nil && !(s.ID != "" && substrat.CodeOf(err) == substrat.CodeUnsupported) {
			return err
		}
		if n.Dir, err = absolute(n.Dir); err != nil {
			return err
		}
		if n.Dir == "" {
			if n.Dir = s.Dir; n.Dir == "" {
				return substrat.Errorf(substrat.CodeInvalid, "cannot tell where session %s was held", s.ID).WithHint("--workspace says where the agent is to work")
			}
		}
		if n.Name == "" {
			n.Name = "session-" + s.ID[:min(8, len(s.ID))]
		}
		n.Provider, n.Session, n.SessionPath, n.Sandbox = s.Provider, s.ID, s.Path, substrat.Sandbox(sandbox)
		c, err := a.client()
		if err != nil {
			return err
		}
		created, err := c.CreateAgent(cmd.Context(), n)
		if err != nil {
			return err
		}
		return a.show(created, func() {
			fmt.Fprintf(a.Out, "created %s: goes on with %s session %s, %s, in %s\n", created.Path, s.Provider, s.ID, count(s.Messages, "message"), created.Dir)
			if !s.UpdatedAt.IsZero() && time.Since(s.UpdatedAt) < time.Minute {
				fmt.Fprintln(a.Out, "the session was used just now: what its CLI adds from here on is not in the agent's copy after its first turn")
			}
		})
	}
	return cmd
}
