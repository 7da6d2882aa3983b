// Command run asks an agent CLI one thing and shows what it does: all there is to using the library.
//
//	go run ./examples/run "What does this program do?"
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/cursor"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := cursor.New(cursor.Options{Network: true, Env: cursor.HostEnv(os.Getenv)})
	for e, err := range agentcli.Run(ctx, p, agentcli.Options{Prompt: strings.Join(os.Args[1:], " "), Partial: true}) {
		switch {
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
		case e.Type == agentcli.EventText:
			fmt.Print(e.Text)
		case e.Type == agentcli.EventToolEnd:
			fmt.Printf("\n[%s %s: %s]\n", e.Tool.Name, e.Tool.Title, e.Tool.Status)
		case e.Type == agentcli.EventResult:
			fmt.Printf("\n%s %s; go on with session %s\n", e.Result.Outcome, e.Result.Detail, e.Result.Session)
		}
	}
}
