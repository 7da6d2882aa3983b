// Package team is the pure core: the tree of agents, their mailboxes, the turns they take and the rules between them.
//
// One [State] is one team: a root agent and everything under it. [Decide] looks at a state and a [Command] and answers
// with facts, or refuses with a reason; it changes nothing. The caller makes the facts durable and then folds them into
// the state with [State.Apply]. Recovery is the same fold over the journal, so there is no second code path for restart.
//
//	              a message is queued, the agent may run
//	  ┌───────────────────────────────────────────────┐
//	  │                                               ▼
//	idle ◄──── turn ends, nothing outstanding ────── busy ───► terminated
//	  ▲                                              │  ▲
//	  │ last reply, or deadline     sync message sent│  │ reply, request, user
//	  └─────────────────────────── waiting ◄─────────┘  │
//	                                 └──────────────────┘
//
// A failed turn leaves its messages in the mailbox until its attempts are used up; then they are dead, their senders
// are told, and the agent is "failed" until the next message wakes it.
//
// The package owns no clock, no randomness, no goroutine and no I/O. Time and ids come in with the command; ids of
// messages that a command causes (automatic replies, failure notices) are derived from the ids that came in, so the
// same commands always give the same journal, and the same journal always folds to the same state.
package team
