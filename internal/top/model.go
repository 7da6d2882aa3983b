// Package top is the live view of the agents on a terminal. It owns what is on the screen and what a key means; what it
// shows it has from a daemon by way of the client, and what it changes it asks the daemon for.
//
// The state (Snapshot), what a key does to it (press) and how it looks (View) are pure. Watcher fetches, in goroutines of
// its own that Run waits for. It never decides anything about teams, and it trusts no text: names and messages come from
// agents, so they are cleaned and cut to the screen before they are shown.
package top

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

// mode is which screen is shown, or what the last line asks for.
type mode int

const (
	modeTree mode = iota
	modeQueue
	modeItem // one item of the queue, to be answered
	modeLog  // a transcript
	modeHelp
	modeMessage // the line is a message to the selected agent
	modeFilter  // the line is a part of a path
	modeConfirm // y or n: end the target
)

// Detail is what is known of one agent beside its line in the tree.
type Detail struct {
	ID    string
	Why   substrat.Why
	Turns []substrat.Turn
}

// Data is what the daemon said last.
type Data struct {
	At     time.Time
	Status client.Status
	// Agents are in the order of the tree, Items oldest first.
	Agents []substrat.Agent
	Items  []substrat.Item
	Detail *Detail
	// Away says that the daemon does not answer; the rest is what it said before.
	Away bool
	// Problem is why the last fetch failed although the daemon answers.
	Problem string
}

// target is an agent that an action is about, as it was when the action was begun: the cursor may move meanwhile.
type target struct{ id, path string }

// Snapshot is all that the screen shows.
type Snapshot struct {
	Data
	mode mode
	// selected is the id of the agent under the cursor, bare hides its details.
	selected string
	bare     bool
	filter   string
	// input is the line that is typed; target is whom it, or the question, is about.
	input  string
	target target
	// item is the id of the selected item; answering is a copy of the one that is being answered.
	item      string
	answering substrat.Item
	chosen    []bool
	option    int  // under the cursor
	typing    bool // the keys go to input, not to the choices
	// log is the transcript of the agent logOf, logTop its first line on the screen, logEnd follows its end.
	log    []string
	logOf  string
	logTop int
	logEnd bool
	// notice is what the last action came to. The next key takes it away, or time: noticed is when it was first refreshed.
	notice  string
	noticed time.Time
	// height and width are of the terminal, for paging.
	width, height int
}

// sortTree puts agents in the order of the tree: each after its parent, siblings by name, where w2 is before w10.
func sortTree(list []substrat.Agent) {
	keys := make(map[string][]string, len(list))
	for _, x := range list {
		keys[x.ID] = strings.Split(countable(x.Path), "/")
	}
	slices.SortFunc(list, func(a, b substrat.Agent) int {
		return cmp.Or(slices.Compare(keys[a.ID], keys[b.ID]), strings.Compare(a.ID, b.ID))
	})
}

// countable fills the numbers in a text with zeros, so that they sort as numbers.
func countable(s string) string {
	if !strings.ContainsAny(s, "0123456789") {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		rest := strings.TrimLeft(s, "0123456789")
		number := s[:len(s)-len(rest)]
		if number != "" {
			b.WriteString(strings.Repeat("0", max(0, 12-len(number))) + number)
		}
		next := strings.IndexAny(rest, "0123456789")
		if next < 0 {
			next = len(rest)
		}
		b.WriteString(rest[:next])
		s = rest[next:]
	}
	return b.String()
}

// noticeFor is how long a notice hides the keys.
const noticeFor = 5 * time.Second

// receive takes new data in. What was selected stays selected while it is there.
func (s Snapshot) receive(d Data) Snapshot {
	if s.noticed.IsZero() {
		s.noticed = d.At
	} else if d.At.Sub(s.noticed) > noticeFor {
		s.notice = ""
	}
	before := s.rowOf(s.selected)
	item := s.itemRow()
	if d.Away || d.Problem != "" {
		old := s.Data
		old.Away, old.Problem, old.At = d.Away, d.Problem, d.At
		d = old
	}
	if d.Detail == nil {
		d.Detail = s.Detail
	}
	s.Data = d
	if rows := s.rows(); s.rowOf(s.selected) < 0 && len(rows) > 0 {
		s.selected = rows[clamp(before, 0, len(rows)-1)].ID
	}
	if s.itemRow() < 0 && len(s.Items) > 0 {
		s.item = s.Items[clamp(item, 0, len(s.Items)-1)].ID
	}
	return s
}

// rows are the agents that the filter lets through.
func (s Snapshot) rows() []substrat.Agent {
	if s.filter == "" {
		return s.Agents
	}
	var out []substrat.Agent
	for _, x := range s.Agents {
		if strings.Contains(strings.ToLower(x.Path), strings.ToLower(s.filter)) {
			out = append(out, x)
		}
	}
	return out
}

func (s Snapshot) rowOf(id string) int {
	return slices.IndexFunc(s.rows(), func(x substrat.Agent) bool { return x.ID == id })
}

func (s Snapshot) itemRow() int {
	return slices.IndexFunc(s.Items, func(x substrat.Item) bool { return x.ID == s.item })
}

// current is the agent under the cursor.
func (s Snapshot) current() (substrat.Agent, bool) {
	rows, i := s.rows(), s.rowOf(s.selected)
	if i < 0 {
		return substrat.Agent{}, false
	}
	return rows[i], true
}

// move puts the cursor so many lines further down.
func (s Snapshot) move(by int) Snapshot {
	if rows := s.rows(); len(rows) > 0 {
		s.selected = rows[clamp(s.rowOf(s.selected)+by, 0, len(rows)-1)].ID
	}
	return s
}

func (s Snapshot) moveItem(by int) Snapshot {
	if len(s.Items) > 0 {
		s.item = s.Items[clamp(s.itemRow()+by, 0, len(s.Items)-1)].ID
	}
	return s
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }
