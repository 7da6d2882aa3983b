package team

import (
	"errors"
	"fmt"
	"testing"

	"substrat.dev/substrat"
)

func TestReach(t *testing.T) {
	st := tell(t)
	note := func(process string, lines ...int64) (n int) {
		t.Helper()
		c := NoteReach{Agent: "lead", Process: process}
		for _, l := range lines {
			c.Attempts = append(c.Attempts, Reach{Host: fmt.Sprint("h", l), Port: 443, Verdict: "denied", Line: l})
		}
		before := len(st.journal)
		st.must(user, c)
		return len(st.journal) - before
	}
	if n := note("p", 0, 10, 20); n != 3 {
		t.Errorf("%d events of three attempts", n)
	}
	if n := note("p", 0, 10, 20, 30); n != 1 {
		t.Errorf("%d events where one attempt is new", n)
	}
	if n := note("q", 0); n != 1 {
		t.Errorf("%d events of another process", n)
	}
	for range 2 {
		st.must(user, AllowHost{Agent: "lead", Host: "example.com:8443"})
	}
	if got := st.s.Agents["lead"].Hosts; len(got) != 1 || got[0] != "example.com:8443" {
		t.Errorf("hosts are %v", got)
	}
	st.refused(user, AllowHost{Agent: "lead", Host: "*"}, substrat.CodeInvalid, "not a name")
	st.refused(user, AllowHost{Agent: "nobody", Host: "a.b"}, substrat.CodeTerminated, "ended")
}

// TestChainIsTold: who is refused for the length of a chain is told of to the user, once in a turn.
func TestChainIsTold(t *testing.T) {
	st := tell(t)
	st.lim.Hops = 0
	st.tellAgent("coder", "m1")
	a, _ := st.turn("coder", "t1")
	_, _, err := st.do(a, "", Send{ID: "m2", Recipient: "lead", Text: "on and on"})
	var end EndOfChain
	if !errors.As(err, &end) || substrat.CodeOf(err) != substrat.CodeLimit {
		t.Fatalf("%v", err)
	}
	before := len(st.journal)
	for i := range 2 {
		st.must(user, TellChain{ID: fmt.Sprint("told", i), Agent: "coder"})
	}
	if n := len(st.journal) - before; n != 2 {
		t.Errorf("%d events of one end of a chain", n)
	}
}
