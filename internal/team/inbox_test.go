package team

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"substrat.dev/substrat"
)

// mailed is a busy coder with mail from everybody.
func mailed(t *testing.T) (*story, Actor) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	st.must(operator("lead"), Send{ID: "n1", Recipient: "coder", Text: "one"})
	st.must(operator("critic"), Send{ID: "n2", Recipient: "coder", Text: "two"})
	st.must(operator("critic"), Send{ID: "r3", Recipient: "coder", Text: "three?", Sync: true})
	st.tellAgent("coder", "u4")
	return st, coder
}

func TestCheckInboxFilters(t *testing.T) {
	for name, tc := range map[string]struct {
		take Take
		want []string
		more int
	}{
		"all":               {Take{}, []string{"n1", "n2", "r3", "u4"}, 0},
		"sender":            {Take{Sender: "critic"}, []string{"n2", "r3"}, 0},
		"kind":              {Take{Kind: substrat.KindNotification}, []string{"n1", "n2"}, 0},
		"both must match":   {Take{Sender: "critic", Kind: substrat.KindRequest}, []string{"r3"}, 0},
		"neither":           {Take{Sender: "lead", Kind: substrat.KindRequest}, nil, 0},
		"the user":          {Take{Sender: "user"}, []string{"u4"}, 0},
		"names are exact":   {Take{Sender: "Critic"}, nil, 0},
		"paths are no name": {Take{Sender: "lead/critic"}, nil, 0},
		"limit":             {Take{Limit: 3}, []string{"n1", "n2", "r3"}, 1},
		"limit of a sender": {Take{Sender: "critic", Limit: 1}, []string{"n2"}, 1},
		"below zero":        {Take{Limit: -1}, []string{"n1", "n2", "r3", "u4"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			st, coder := mailed(t)
			got := decoded[Taken](st, st.must(coder, tc.take))
			var ids []string
			for _, m := range got.Messages {
				ids = append(ids, m.MessageID)
				if x := st.s.Messages[m.MessageID]; x.State != substrat.Injected || x.Turn != "t1" {
					t.Errorf("%s was taken and is %s in %q", m.MessageID, x.State, x.Turn)
				}
			}
			if diff := cmp.Diff(tc.want, ids, cmpopts.EquateEmpty()); diff != "" || got.More != tc.more {
				t.Errorf("%d more (-want +got):\n%s", got.More, diff)
			}
			if n := len(st.s.Agents["coder"].Queue) + len(ids); n != 4 {
				t.Errorf("%d messages are taken or left", n)
			}
		})
	}
}

func TestTakenMailIsNotDeliveredAgain(t *testing.T) {
	st, coder := mailed(t)
	st.now = st.now.Add(90 * time.Second)
	got := decoded[Taken](st, st.must(coder, Take{Sender: "critic"}))
	want := []InboxMessage{
		{From: "critic", Text: "two", MessageID: "n2", Kind: substrat.KindNotification, AgeS: 90},
		{From: "critic", Text: "three?", MessageID: "r3", Kind: substrat.KindRequest, AgeS: 90},
	}
	if diff := cmp.Diff(want, got.Messages); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	if again := st.must(coder, Take{Sender: "critic"}); again != `{"messages":[]}` {
		t.Errorf("taken again: %s", again)
	}
	st.restart(true)
	st.end(coder, substrat.Completed, "answer to all")
	st.became("n2", substrat.Handled)
	st.became("r3", substrat.Answered)
	_, prompt := st.turn("critic", "t2")
	st.says(prompt, "Reply from coder ", "(to message r3):\nanswer to all")
	_, prompt = st.turn("coder", "t3")
	st.says(prompt, "You have 2 messages", "one", "go")
	st.quiet(prompt, "two", "three")
}

func TestOperatorOnlyLooks(t *testing.T) {
	st, _ := mailed(t)
	entries, answer, err := st.do(operator("coder"), "", Take{Limit: 1})
	if err != nil || len(entries) != 0 || !strings.Contains(answer, "one") || !strings.Contains(answer, `"more":3`) {
		t.Errorf("%d entries, %s, %v", len(entries), answer, err)
	}
	st.queue("coder", "n1", "n2", "r3", "u4")
}

func TestUserHasNoInboxHere(t *testing.T) {
	st := tell(t)
	st.refused(user, Take{}, substrat.CodeForbidden, "only an agent")
}

// An answer has to fit into one line to the agent: what does not fit is left for the next call.
func TestTakeIsBounded(t *testing.T) {
	st := tell(t)
	st.lim.TextBytes = 100
	coder := st.busy("coder", "t1")
	for i, n := range []int{100, 60, 60, 10} {
		st.must(user, Send{ID: fmt.Sprint("u", i), To: "coder", Text: strings.Repeat("x", n)})
	}
	for _, want := range [][]string{{"u0"}, {"u1"}, {"u2", "u3"}, nil} {
		var got []string
		for _, m := range decoded[Taken](st, st.must(coder, Take{})).Messages {
			got = append(got, m.MessageID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("taken (-want +got):\n%s", diff)
		}
	}
	for range 300 {
		st.tellAgent("coder", st.id())
	}
	for limit, want := range map[int]int{0: 50, 1000: 50} {
		st.lim.TextBytes = 100
		if n := len(decoded[Taken](st, st.must(operator("coder"), Take{Limit: limit})).Messages); n != want {
			t.Errorf("limit %d gives %d, want %d", limit, n, want)
		}
	}
	st.lim = DefaultLimits()
	if n := len(decoded[Taken](st, st.must(coder, Take{Limit: 1000})).Messages); n != 200 {
		t.Errorf("at most %d are taken", n)
	}
}

func TestAgeIsNeverNegative(t *testing.T) {
	st, coder := mailed(t)
	st.now = st.now.Add(-time.Hour)
	for _, m := range decoded[Taken](st, st.must(coder, Take{})).Messages {
		if m.AgeS != 0 {
			t.Errorf("%s is %d s old after the clock was set back", m.MessageID, m.AgeS)
		}
	}
}
