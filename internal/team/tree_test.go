package team

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
)

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "coder-2": true, "a.b_c": true, "0day": true, strings.Repeat("x", 63): true,
		"": false, strings.Repeat("x", 64): false, "-a": false, ".a": false, "..": false, "a/b": false, "a b": false, "a\nb": false,
		"ä": false, "USER": false, "user": false, "System": false, "a\x00": false,
		"01a1fb68-50ff-774c-9047-c6b9bbc7e523": false,
	} {
		err := CheckName(name)
		if (err == nil) != ok {
			t.Errorf("CheckName(%q): %v, want ok %v", name, err, ok)
		}
		if err != nil && substrat.CodeOf(err) != substrat.CodeInvalid {
			t.Errorf("CheckName(%q) is refused with %s", name, substrat.CodeOf(err))
		}
	}
}

// A name may be used where nobody who can say it would mean two agents by it.
func TestNamesAreUniqueInTheNeighbourhood(t *testing.T) {
	st := tell(t)
	for path, parent := range map[string]string{"a": "coder", "b": "critic"} {
		st.must(user, Create{ID: path, Name: path, Parent: parent})
	}
	st.must(user, Create{ID: "deep", Name: "deep", Parent: "a"})
	for _, tc := range []struct{ name, parent, why string }{
		{"lead", "coder", "a neighbour of lead/coder"},
		{"coder", "coder", "the parent"},
		{"critic", "coder", "a neighbour of lead/coder"},
		{"a", "coder", "a child of lead/coder"},
		{"a", "lead", "a child of lead/coder"},
		{"b", "lead", "a child of lead/critic"},
		{"deep", "coder", "a child of lead/coder/a"},
		{"lead", "a", ""}, {"b", "coder", ""}, {"deep", "lead", ""}, {"critic", "a", ""}, {"a", "critic", ""},
	} {
		fresh := fmt.Sprintf("%s-under-%s", tc.name, tc.parent)
		c := Create{ID: fresh, Name: tc.name, Parent: tc.parent}
		if tc.why != "" {
			st.refused(user, c, substrat.CodeNameTaken, tc.why+" has it")
			continue
		}
		st.must(user, c)
		st.must(user, Terminate{Agent: fresh})
	}
}

func TestNameIsFreeAgainAfterTheEnd(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		st := tell(t)
		st.must(user, Create{ID: "h", Name: "h", Parent: "coder"})
		st.must(user, Create{ID: "h2", Name: "h", Parent: "critic"})
		st.must(user, Terminate{Agent: "h"})
		st.restart(snapshot)
		st.refused(user, Create{ID: "x", Name: "h", Parent: "lead"}, substrat.CodeNameTaken, "a child of lead/critic")
		st.must(user, Terminate{Agent: "h2"})
		st.must(user, Create{ID: "x", Name: "h", Parent: "lead"})
	}
}

func TestRouting(t *testing.T) {
	st := tell(t)
	st.must(user, Create{ID: "helper", Name: "helper", Parent: "coder"})
	st.must(user, Create{ID: "cousin", Name: "cousin", Parent: "critic"})
	coder := st.busy("coder", "t1")
	for _, ok := range []string{"lead", "critic", "helper"} {
		st.must(coder, Send{ID: "to-" + ok, Recipient: ok, Text: "hi"})
	}
	for _, far := range []string{"coder", "cousin", "Lead", "lead/critic", "", "system"} {
		st.refused(coder, Send{ID: "x", Recipient: far, Text: "hi"}, substrat.CodeUnreachable, "you can reach: lead, critic, helper")
	}
	helper := st.busy("helper", "t2")
	st.refused(helper, Send{ID: "x", Recipient: "critic", Text: "hi"}, substrat.CodeUnreachable, "you can reach: coder")
}

func TestOnlyTheRootSpeaksToTheUser(t *testing.T) {
	st := tell(t)
	coder := st.busy("coder", "t1")
	st.refused(coder, Send{ID: "x", Recipient: substrat.User, Text: "hi"}, substrat.CodeUnreachable, "write to your parent lead")
	lead := st.busy("lead", "t2")
	got := decoded[substrat.Sent](st, st.must(lead, Send{ID: "m", Recipient: substrat.User, Text: "hi", Sync: true}))
	if diff := cmp.Diff(substrat.Sent{Status: "sent", MessageID: "m", State: substrat.Delivered}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	st.became("m", substrat.Delivered)
	st.end(lead, substrat.Completed, "")
	st.state("lead", substrat.Idle)
}

func TestHintsAreBounded(t *testing.T) {
	st := tell(t)
	for i := range 40 {
		st.must(user, Create{ID: fmt.Sprint("id", i), Name: fmt.Sprint("n", i), Parent: "lead"})
	}
	coder := st.busy("coder", "t1")
	_, _, err := st.do(coder, "", Send{ID: "x", Recipient: "nobody", Text: "hi"})
	if n := strings.Count(err.Error(), ", "); n != 20+1 || !strings.Contains(err.Error(), "…") {
		t.Errorf("the hint names %d agents: %v", n, err)
	}
}

func TestPaths(t *testing.T) {
	st := tell(t)
	st.must(user, Create{ID: "h", Name: "h", Parent: "coder"})
	if got := st.s.Path("h"); got != "lead/coder/h" {
		t.Errorf("path %q", got)
	}
	if a := st.s.ByPath("lead/coder/h"); a == nil || a.ID != "h" {
		t.Errorf("by path: %+v", a)
	}
	for _, none := range []string{"", "coder", "lead/h", "lead/", "lead/coder/h/x", "/lead"} {
		if a := st.s.ByPath(none); a != nil {
			t.Errorf("ByPath(%q) is %s", none, a.ID)
		}
	}
	if diff := cmp.Diff([]string{"lead", "coder", "h", "critic"}, st.s.Walk()); diff != "" {
		t.Errorf("walk (-want +got):\n%s", diff)
	}
	st.must(user, Terminate{Agent: "lead"})
	if !st.s.Ended() || st.s.Walk() != nil || st.s.ByPath("lead") != nil || st.s.Path("lead") != "" {
		t.Error("an ended team still has agents")
	}
	st.restart(true)
	if !st.s.Ended() {
		t.Error("the snapshot of an ended team is not ended")
	}
}
