// Package schedule decides who gets a slot next. A slot is the right to run one provider process; a process holds it from
// its start until it is gone, whether a turn is open on it or it waits, live, for the next.
//
// [Make] looks at the fleet at one moment and answers with a [Plan]: who starts now, which live sessions are suspended,
// who waits and for what, and when time alone would change the answer. These hold for every plan:
//
//   - No limit is passed. A suspension frees its slot only when the process is gone, so nobody starts on a slot that is
//     still to be freed: whoever the suspension is for is first in order at the pass that follows it. Until then the slot
//     is promised, and neither given to somebody behind nor asked for twice.
//   - The next slot goes to the team with the fewest open turns, among those to the team that was served longest ago, and
//     in a team to the highest priority, where each 30 seconds of waiting raise a message by one class. So a chatty team
//     does not starve a quiet one, nor does anything starve inside a team.
//   - A turn on a live session needs no slot, and is 10 seconds ahead of its age, because starting a process costs more.
//     But it has its place in the order like any other: who is before it may have its session suspended, or a few
//     sessions that always have work would keep every slot for ever.
//   - While memory is low no process starts, not even when none runs: a machine without memory is not helped by one more.
//     Live sessions go on; idle ones are suspended one by one, since they hold memory that somebody waits for. The plan
//     says who waits for memory and asks to be made again soon, because memory comes back without an event.
//   - Agents whose account is on hold wait without a slot. When a hold has passed, those that waited come one by one.
//
// [Note] and [Holds] keep account of what the provider refused and make the holds of it; [ParseReset] reads from a
// provider's words when its limit ends.
//
// The package owns no clock, no randomness, no goroutine and no I/O. What looks random, jitter and stagger, is a hash of
// ids, so that the same fleet always gives the same plan.
package schedule

import (
	"time"

	"substrat.dev/substrat"
)

// Priority orders candidates of one team. Lower goes first.
type Priority int

// The priorities, by what the agent is woken for.
const (
	PriorityUser         Priority = iota // a message of the user, or the answer to a question
	PriorityReply                        // replies, and results that were waited for
	PriorityRequest                      // requests of other agents
	PriorityNotification                 // the rest
)

// Candidate is an agent that may have a turn. Agents' ids are unique over all teams.
type Candidate struct {
	Team, Agent string
	Pool        string // the provider, which may have a limit of its own
	Account     string // what the provider counts its limits on
	Priority    Priority
	Since       time.Time // since when it waits
}

// Process is a provider process that holds a slot.
type Process struct {
	Team, Agent, Pool, Account string

	Turn    bool      // a turn is open on it; otherwise it is idle and live
	Leaving bool      // it has been told to go, and holds its slot until it has
	Since   time.Time // when its turn began, or since when it is idle
}

// Limits bound the processes. A pool that is not in Pools has no limit but the total.
type Limits struct {
	Total        int
	Pools        map[string]int
	MemoryLow    bool
	SuspendAfter time.Duration // suspend a session that has been idle that long; zero: never for that reason
}

// Hold keeps an account's agents from running.
type Hold struct {
	Account string
	Until   time.Time // zero: until a person resumes
	// Probe: when Until has passed one turn goes through, and no other until the hold is lifted.
	Probe  bool
	Class  substrat.FailureClass
	Detail string
}

// Fleet is everything a plan depends on. The plan keeps Ready, which must not be changed after.
type Fleet struct {
	Ready   []Candidate
	Running []Process
	Limits  Limits
	// Holds has those in force and those that passed less than Stagger ago: who waited for them is woken one by one.
	Holds []Hold
	// Served is when each team was last given a turn. It decides between teams with as many open turns; a team that is
	// not in it goes first.
	Served map[string]time.Time
}

// Reason says what a candidate waits for.
type Reason string

// The reasons.
const (
	ReasonSlots   Reason = "slots"   // every slot is taken
	ReasonPool    Reason = "pool"    // every slot of its provider is taken
	ReasonFreeing Reason = "freeing" // a slot is being freed for it, or its own process is just going
	ReasonMemory  Reason = "memory"  // the machine has little memory left
	ReasonAccount Reason = "account" // its account is on hold
	ReasonProbe   Reason = "probe"   // one turn tries its account, the others wait for how it ends
	ReasonStagger Reason = "stagger" // a hold has passed; it is woken in its turn
	ReasonBusy    Reason = "busy"    // it has an open turn
)

// Waiting is a candidate that got nothing.
type Waiting struct {
	Team, Agent string
	Reason      Reason
	Until       time.Time // when time alone ends the waiting; zero if it does not
}

// Plan is what to do now.
type Plan struct {
	Start   []Candidate // in order
	Suspend []Process   // live sessions to suspend, in order
	Waiting []Waiting   // every other candidate, in no order
	Next    time.Time   // when time alone changes the plan; zero: never

	ready  []Candidate // the fleet's
	queue  []int       // those of ready that a slot would help
	turns  map[string]int
	served map[string]time.Time
	now    time.Time
}
