package engine

import (
	"fmt"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

// instructions are what stands above every turn of an agent, where its CLI keeps them across its own compaction.
func instructions(s *team.State, a *team.Agent) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are %q (%s), an agent in a team run by Substrat.\n", a.Name, s.Path(a.ID))
	if p := s.Agents[a.Parent]; p != nil {
		fmt.Fprintf(&b, "Your parent is %q. ", p.Name)
	} else {
		b.WriteString("You are the root of the team: report to the person above it with send_message to USER. ")
	}
	b.WriteString("You can write to your parent, your children and your siblings by name.\n\n")
	b.WriteString(house)
	switch a.Role {
	case substrat.Reviewer:
		b.WriteString("\nYou review: read and answer. Your workspace is read-only.\n")
	case substrat.Manager:
		b.WriteString("\nYou manage: split the work, hand it on with spawn_agent and send_message, and put the results together.\n")
	}
	if a.Instructions != "" {
		b.WriteString("\n" + a.Instructions + "\n")
	}
	return b.String()
}

// house are the rules that hold for every agent.
const house = `How this works:
- Tool calls of the "substrat" server answer at once. Nothing waits inside a tool call.
- send_message with sync (the default) asks for a reply. End your turn; the reply is your next message. Do not poll.
- When a message asks you for a reply, the closing text of your turn is that reply.
- check_inbox shows what arrived during your turn; list_children and inspect_agent show your team.
- When your job is done and you have a parent, call complete with the result: it ends you after this turn.
`
