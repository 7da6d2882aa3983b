package substrat

import "time"

// MessageKind is what a message is for.
type MessageKind string

// The kinds of messages.
const (
	// KindUser comes from the person above the team.
	KindUser MessageKind = "user"
	// KindRequest is a sync message: its sender waits for the reply.
	KindRequest MessageKind = "request"
	// KindNotification expects no reply.
	KindNotification MessageKind = "notification"
	// KindReply answers a request.
	KindReply MessageKind = "reply"
	// KindResult is what an agent that completed leaves to its parent.
	KindResult MessageKind = "result"
	// KindError tells that a turn failed or that a request will not be answered.
	KindError MessageKind = "error"
	// KindAnswer is a person's answer to a question, or their word on something that waited for it.
	KindAnswer MessageKind = "answer"
	// KindReminder is one that an agent set for itself.
	KindReminder MessageKind = "reminder"
	// KindState tells of a change of state that was subscribed to.
	KindState MessageKind = "state"
	// KindStart wakes an agent that was spawned and sent nothing: it begins with its instructions.
	KindStart MessageKind = "start"
)

// MessageState is where a message is. It never lies: every change is journalled before it is shown.
type MessageState string

// The life of a message: queued → injected → handled → answered, or expired, or dead.
const (
	// Queued: waits in the recipient's mailbox.
	Queued MessageState = "queued"
	// Held: a rule keeps it for a person, who releases, edits or rejects it. Then it is queued, or dead.
	Held MessageState = "held"
	// Injected: part of the prompt (or taken by check_inbox) of the open turn named in Message.Turn.
	Injected MessageState = "injected"
	// Handled: the turn it was injected into completed. Final, except that a request may still be answered.
	Handled MessageState = "handled"
	// Answered: a reply was sent. Final.
	Answered MessageState = "answered"
	// Expired: a request whose deadline passed unanswered. Final.
	Expired MessageState = "expired"
	// Dead: given up after its attempts, or its recipient ended. Detail says why. Final.
	Dead MessageState = "dead"
	// Delivered: a message to USER, readable in the inbox. Final.
	Delivered MessageState = "delivered"
)

// Final reports whether no further change of a message in this state is possible for its sender to wait for.
func (s MessageState) Final() bool {
	return s == Handled || s == Answered || s == Expired || s == Dead || s == Delivered
}

// Message is one message with its receipt.
type Message struct {
	ID   string `json:"id"`
	Team string `json:"team"`
	// From and To are agent paths as they were when the message was sent, or USER or system.
	From  string       `json:"from"`
	To    string       `json:"to"`
	Kind  MessageKind  `json:"kind"`
	State MessageState `json:"state"`
	Text  string       `json:"text"`
	// Turn is the turn it was injected into last.
	Turn string `json:"turn"`
	// Attempts counts the turns it was injected into.
	Attempts int    `json:"attempts"`
	ReplyTo  string `json:"reply_to"`
	// AnsweredBy is the id of the reply.
	AnsweredBy string `json:"answered_by,omitempty"`
	// Cause is the message that led to this one; Hops counts the chain from the first.
	Cause string `json:"cause,omitempty"`
	Hops  int    `json:"hops"`
	// Broadcast groups the messages of one broadcast.
	Broadcast string `json:"broadcast,omitempty"`
	// Item is what a person decides on, for a message that a rule held.
	Item string `json:"item,omitempty"`
	// Detail says why a message is dead or expired, and how a held one was changed.
	Detail    string     `json:"detail,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	Deadline  *time.Time `json:"deadline,omitempty"`
	// InjectedAt and DoneAt are when it entered its last turn and when it became final.
	InjectedAt *time.Time `json:"injected_at,omitempty"`
	DoneAt     *time.Time `json:"done_at,omitempty"`
}

// Sent answers a command that sends a message.
type Sent struct {
	Status          string       `json:"status"` // "sent"
	MessageID       string       `json:"message_id"`
	WaitingForReply bool         `json:"waiting_for_reply"`
	State           MessageState `json:"state,omitempty"`
}
