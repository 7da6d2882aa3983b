package team

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// exercise uses a state in every way there is. Whatever it came from, nothing may panic.
func exercise(t *testing.T, s *State, at time.Time) {
	t.Helper()
	do := func(a Actor, c Command) {
		entries, _, err := Decide(s, Meta{At: at, Actor: a, Key: a.Turn + "/1", Limits: DefaultLimits()}, c)
		if err != nil {
			return
		}
		for _, e := range entries {
			if _, err := s.Apply(e); err != nil {
				return
			}
		}
	}
	look := func() {
		s.NextDue(at)
		s.Overdue(at)
		s.Ended()
		s.ByPath("lead/coder")
		s.ReadyAgents(at)
		s.OpenTurns()
		for _, id := range append(s.Walk(), slices.Sorted(maps.Keys(s.Agents))...) {
			s.View(id)
			s.Prompt(id)
			s.Children(id)
			_, _ = s.Inspect(id, "coder")
		}
	}
	look()
	for i, id := range slices.Sorted(maps.Keys(s.Agents)) {
		own := string(rune('A' + i%26))
		do(user, Send{ID: "u" + own, To: id, Text: "go"})
		do(user, Start{Agent: id, Turn: "t" + own})
		a := Actor{Agent: id, Operator: true}
		if x := s.Agents[id]; x != nil && x.Turn != nil {
			a = Actor{Agent: id, Turn: x.Turn.ID}
		}
		do(a, Take{})
		do(a, SendAll{ID: "b" + own, Text: "who?"})
		do(a, SendAll{ID: "c" + own, Text: "who?", To: "children"})
		do(a, Send{ID: "p" + own, Recipient: "lead", Text: "hi", Sync: true})
		for _, m := range slices.Sorted(maps.Keys(s.Messages)) {
			do(a, Send{ID: "r" + own + m, Recipient: "lead", Text: "hi", ReplyTo: m})
		}
		do(a, Create{ID: "n" + own, Name: "n" + own, Instructions: "begin"})
		do(a, Complete{Result: "done"})
	}
	look()
	outcomes := []substrat.Outcome{substrat.Completed, substrat.FailedTurn, substrat.Cancelled, substrat.Interrupted}
	for i, a := range s.OpenTurns() {
		do(user, Cancel{Agent: a.ID})
		do(user, End{Agent: a.ID, Turn: a.Turn.ID, Outcome: outcomes[i%len(outcomes)], Class: substrat.ClassSession})
	}
	at = at.Add(48 * time.Hour)
	do(user, Expire{})
	look()
	for _, id := range slices.Sorted(maps.Keys(s.Agents)) {
		do(user, Terminate{Agent: id})
	}
	look()
}

// FuzzFold: no event, however damaged, makes the fold panic, nor what comes after it.
func FuzzFold(f *testing.F) {
	for kind := range facts {
		f.Add(kind, []byte(`{}`), []byte(`{}`))
		f.Add(kind, []byte(`{"agent":"lead","turn":"t1","messages":["m1",""],"agents":["lead","lead"],"handled":["m1"],"requeued":["m1","m1"],"id":"m1"}`), []byte(`null`))
		f.Add(kind, []byte(`{"agent":"coder","turn":"t2","number":1,"messages":["m2"],"agents":["coder"],"id":"b","result":"x"}`), []byte(`{"agent":"lead","turn":"t1","handled":["m1"],"outcome":"completed"}`))
	}
	for _, fact := range misfits() {
		if fact == nil {
			continue
		}
		data, err := json.Marshal(fact)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(fact.Type(), data, data)
	}
	f.Add("agent.created", []byte(`{"agent":{"id":"x","name":"x","parent":"lead","turn":{"id":"t1"},"queue":["m9"],"awaits":["m9"]}}`), []byte(`{}`))
	f.Add("agent.created", []byte(`{"agent":{"id":"x","name":"x","parent":"lead","retry_at":"0001-01-01T00:00:00Z","start_after":"t1"}}`), []byte(`{}`))
	f.Add("message.sent", []byte(`{"message":{"id":"m9","kind":"request","to_id":"lead","from_id":"coder","reply_to":"m1","broadcast":"b","deadline":"2000-01-01T00:00:00Z"}}`), []byte(`{}`))
	f.Add("message.sent", []byte(`{"message":{"id":"m9","kind":"error","to_id":"lead","reply_to":"m2"}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, kind string, data, more []byte) {
		s := New("lead")
		at := time.Unix(0, 0).UTC()
		request := func(id, from, to string) Message {
			return Message{ToID: to, FromID: from, Message: substrat.Message{ID: id, Kind: substrat.KindRequest, Broadcast: "b", Deadline: ptr(at.Add(time.Hour))}}
		}
		for _, fact := range []Fact{
			&AgentCreated{Agent: Agent{ID: "lead", Name: "lead"}},
			&AgentCreated{Agent: Agent{ID: "coder", Name: "coder", Parent: "lead"}},
			&MessageSent{Message: request("m1", "coder", "lead")},
			&MessageSent{Message: request("m2", "lead", "coder")},
			&TurnStarted{Turn: "t1", Agent: "lead", Number: 1, Messages: []string{"m1"}},
		} {
			if _, err := s.Apply(Entry{Fact: fact, At: at}); err != nil {
				t.Fatal(err)
			}
		}
		for _, ev := range []substrat.Event{{Type: kind, Data: data, At: at, Key: "t1/1", Answer: []byte(`{}`)}, {Type: "turn.ended", Data: more, At: at}} {
			if e, err := ParseEvent(ev); err == nil {
				_, _ = s.Apply(e)
			}
		}
		whole, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Decode(whole); err == nil {
			exercise(t, back, at)
		}
		exercise(t, s, at)
	})
}

// FuzzSnapshot: what Decode accepts can be used.
func FuzzSnapshot(f *testing.F) {
	s := New("lead")
	at := time.Unix(0, 0).UTC()
	for i, c := range []Command{
		Create{ID: "lead", Name: "lead"}, Create{ID: "coder", Name: "coder", Parent: "lead"}, Create{ID: "critic", Name: "critic", Parent: "lead"},
		Send{ID: "u", To: "lead", Text: "go"}, Start{Agent: "lead", Turn: "t"},
		SendAll{ID: "b", Text: "who?", To: "children"}, Start{Agent: "coder", Turn: "t2"}, End{Agent: "lead", Turn: "t", Outcome: substrat.FailedTurn},
	} {
		m := Meta{At: at, Limits: DefaultLimits()}
		if _, ok := c.(SendAll); ok {
			m.Actor, m.Key = Actor{Agent: "lead", Turn: "t"}, "t/1"
		}
		entries, _, err := Decide(s, m, c)
		if err != nil {
			f.Fatalf("step %d: %v", i, err)
		}
		for _, e := range entries {
			if _, err := s.Apply(e); err != nil {
				f.Fatal(err)
			}
		}
		whole, err := s.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(whole)
	}
	f.Add([]byte(`{"team":"a","seq":3,"agents":{"a":{"id":"a","name":"a","queue":["m"]}},"messages":{"m":{"id":"m","kind":"user","state":"queued","to_id":"a"}}}`))
	f.Add([]byte(`{"agents":{"a":{"id":"a","parent":"b"},"b":{"id":"b","parent":"a"}}}`))
	f.Add([]byte(`{"agents":{"a":null},"messages":{"m":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data)
		if err != nil {
			if substrat.CodeOf(err) != substrat.CodeStorage {
				t.Errorf("refused with %s: %v", substrat.CodeOf(err), err)
			}
			return
		}
		again, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Errorf("accepted, and not accepted again: %v", err)
		}
		exercise(t, s, time.Unix(1, 0))
	})
}
