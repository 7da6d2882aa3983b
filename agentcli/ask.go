package agentcli

// AskKind says what an agent asks for.
type AskKind string

// The kinds of questions.
const (
	AskQuestion   AskKind = "question"   // it wants to know something
	AskPermission AskKind = "permission" // it wants to use a tool
	AskPlan       AskKind = "plan"       // it wants its plan approved
)

// Question is something the agent asked a person.
type Question struct {
	// ID is unique within the turn, and the same when the question is met again in a recorded stream.
	ID   string  `json:"id"`
	Kind AskKind `json:"kind,omitempty"`
	// Title is one line for people.
	Title string `json:"title,omitempty"`
	// Text is the plan in Markdown.
	Text string `json:"text,omitempty"`
	// Tool is what a permission is for.
	Tool *ToolCall `json:"tool,omitempty"`
	// Prompts are what is asked: one with the CLI's options for a permission, one with accept and reject for a plan.
	Prompts []QuestionPrompt `json:"prompts"`
}

// QuestionPrompt is one question with its choices.
type QuestionPrompt struct {
	ID       string   `json:"id"`
	Prompt   string   `json:"prompt"`
	Options  []Option `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
}

// Option is one choice.
type Option struct {
	ID    string     `json:"id"`
	Label string     `json:"label"`
	Kind  OptionKind `json:"kind,omitempty"`
}

// OptionKind says what choosing an option of a permission or a plan means, whatever its id and label are.
type OptionKind string

// The kinds of options.
const (
	AllowOnce    OptionKind = "allow_once"
	AllowAlways  OptionKind = "allow_always"
	RejectOnce   OptionKind = "reject_once"
	RejectAlways OptionKind = "reject_always"
)

// AnswerOutcome says what became of a question.
type AnswerOutcome string

// The outcomes of questions.
const (
	Answered  AnswerOutcome = "answered"
	Skipped   AnswerOutcome = "skipped"   // nobody was there to ask, or they did not want to say
	Withdrawn AnswerOutcome = "cancelled" // the turn was cancelled meanwhile
)

// Answer is what was said to a question. The zero one skips it.
type Answer struct {
	// ID is the question's.
	ID      string        `json:"id"`
	Outcome AnswerOutcome `json:"outcome"`
	// Choices are the ids of the chosen options, by the prompts' ids.
	Choices map[string][]string `json:"choices,omitempty"`
	// Text is what was said beside the choices: a reason, or the answer to a prompt without options.
	Text string `json:"text,omitempty"`
}

// Choose answers the first prompt of a question by the first option of the first kind in want that it has. Agents name
// and order their options as they like; only the kinds are common.
func (q Question) Choose(want ...OptionKind) (Answer, bool) {
	for _, kind := range want {
		for _, p := range q.Prompts {
			for _, o := range p.Options {
				if o.Kind == kind {
					return Answer{ID: q.ID, Outcome: Answered, Choices: map[string][]string{p.ID: {o.ID}}}, true
				}
			}
		}
	}
	return Answer{ID: q.ID, Outcome: Skipped}, false
}

// Chosen gives the option that an answer chose at a prompt, nil for none.
func (q Question) Chosen(a Answer, prompt string) *Option {
	for _, p := range q.Prompts {
		if p.ID != prompt || len(a.Choices[prompt]) == 0 {
			continue
		}
		for _, o := range p.Options {
			if o.ID == a.Choices[prompt][0] {
				return &o
			}
		}
	}
	return nil
}
