package team

import (
	"testing"

	"substrat.dev/substrat"
)

// TestAskInTurn: the answer stays with the item, is no message and grants nothing; what nobody answered goes with the turn.
func TestAskInTurn(t *testing.T) {
	st := tell(t)
	ask := AskInTurn{ID: "i1", Kind: substrat.ItemPermission, Text: "coder wants to use Bash rm", Options: []string{"allow", "deny"}, Default: "deny", Tool: "Bash"}
	st.refused(operator("coder"), ask, substrat.CodeConflict, "none is open")
	st.tellAgent("coder", "m1")
	a, _ := st.turn("coder", "t1")
	st.must(a, ask)
	st.must(a, ask) // asked again after a restart: it is the same
	if len(st.s.Items) != 1 || st.s.Items["i1"].Turn != "t1" {
		t.Fatalf("%+v", st.s.Items)
	}
	st.must(user, AnswerItem{ID: "i1", Answer: substrat.Answer{Choices: []string{"allow"}}})
	if x := st.items["i1"]; x.State != substrat.ItemAnswered || x.Answer.Choices[0] != "allow" {
		t.Errorf("%+v", x)
	}
	if len(st.s.Agents["coder"].Queue) != 0 || len(st.s.Agents["coder"].Grants) != 0 {
		t.Errorf("the answer left more than itself: %+v", st.s.Agents["coder"])
	}
	ask.ID, ask.Default = "i2", ""
	st.must(a, ask)
	ask.ID, ask.Default = "i3", "deny"
	st.must(a, ask)
	ask.ID = "i4"
	st.must(a, ask)
	st.restart(true)
	st.end(a, substrat.Completed, "done")
	if x := st.items["i4"]; x.State != substrat.ItemWithdrawn || len(st.s.Items) != 0 {
		t.Errorf("%+v", x)
	}
}

// TestAskInTurnNobodyAnswers: with a default it is taken, and either way nobody is written to.
func TestAskInTurnNobodyAnswers(t *testing.T) {
	st := tell(t)
	st.tellAgent("coder", "m1")
	a, _ := st.turn("coder", "t1")
	ask := AskInTurn{ID: "i1", Kind: substrat.ItemQuestion, Text: "why?"}
	st.must(a, ask)
	ask.ID, ask.Options, ask.Default = "i2", []string{"x", "y"}, "y"
	st.must(a, ask)
	st.now = st.now.Add(st.lim.AskDeadline)
	st.must(user, Expire{})
	if x := st.items["i1"]; x.State != substrat.ItemExpired || x.Answer != nil {
		t.Errorf("%+v", x)
	}
	if x := st.items["i2"]; x.State != substrat.ItemExpired || x.Answer.Choices[0] != "y" {
		t.Errorf("%+v", x)
	}
	if len(st.s.Agents["coder"].Queue) != 0 {
		t.Errorf("somebody was written to: %v", st.s.Agents["coder"].Queue)
	}
}
