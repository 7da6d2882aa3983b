package team

import (
	"slices"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// FuzzFold: no event, however damaged, makes the fold panic.
func FuzzFold(f *testing.F) {
	for kind := range facts {
		f.Add(kind, []byte(`{}`))
		f.Add(kind, []byte(`{"agent":"lead","turn":"t1","messages":["m1",""],"agents":["lead","lead"],"handled":["m1"],"requeued":["m1","m1"],"id":"m1"}`))
	}
	f.Add("agent.created", []byte(`{"agent":{"id":"x","parent":"lead","turn":{"id":"t1"},"queue":["m9"],"awaits":["m9"]}}`))
	f.Add("message.sent", []byte(`{"message":{"id":"m1","kind":"request","to_id":"lead","from_id":"lead","reply_to":"m1","broadcast":"b"}}`))
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		s := New("lead")
		at := time.Unix(0, 0).UTC()
		for _, fact := range []Fact{
			&AgentCreated{Agent: Agent{ID: "lead", Name: "lead"}},
			&MessageSent{Message: Message{ToID: "lead", FromID: "lead", Message: substrat.Message{ID: "m1", Kind: substrat.KindRequest}}},
			&TurnStarted{Turn: "t1", Agent: "lead", Number: 1, Messages: []string{"m1"}},
		} {
			if _, err := s.Apply(Entry{Fact: fact, At: at}); err != nil {
				t.Fatal(err)
			}
		}
		e, err := ParseEvent(substrat.Event{Type: kind, Data: data, At: at})
		if err != nil {
			return
		}
		if _, err := s.Apply(e); err != nil {
			return
		}
		whole, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = Decode(whole)
	})
}

// FuzzSnapshot: what Decode accepts can be used.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"team":"a","seq":3,"agents":{"a":{"id":"a","name":"a","queue":["m"]}},"messages":{"m":{"id":"m","kind":"user","state":"queued"}}}`))
	f.Add([]byte(`{"agents":{"a":{"id":"a","parent":"b"},"b":{"id":"b","parent":"a"}}}`))
	f.Add([]byte(`{"agents":{"a":null},"messages":{"m":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data)
		if err != nil {
			return
		}
		now := time.Unix(1, 0)
		s.ReadyAgents(now)
		s.NextDue(now)
		s.Overdue(now)
		for _, id := range s.Walk() {
			s.View(id)
			s.Prompt(id)
			s.Children(id)
		}
		if !slices.IsSorted(keys(s.open)) {
			t.Error("keys are sorted")
		}
	})
}
