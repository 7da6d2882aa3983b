package journaltest

import (
	"fmt"
	"slices"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

func testDocUpsert(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	b := batch("a", 0, 1)
	b.Docs = []journal.Doc{doc("turn", "x", "", 1), doc("message", "x", "a", 2)}
	b.Docs[0].Team = ""
	mustAppend(t, j, b)
	final := doc("turn", "x", "a", 3)
	final.State, final.Path, final.Body = "answered", "a/renamed", []byte("new")
	mustAppend(t, j, journal.Batch{Team: "a", Expect: 1, Docs: []journal.Doc{final}})
	got, err := j.Doc(t.Context(), "turn", "x")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the newer", got, final)
	equal(t, "all", allDocs(t, j, journal.Query{}), []journal.Doc{doc("message", "x", "a", 2), final})
	equal(t, "of the old path", allDocs(t, j, journal.Query{Kind: "turn", Path: "a/worker"}), []journal.Doc(nil))
	_, err = j.Doc(t.Context(), "agent", "x")
	refused(t, err, substrat.CodeNotFound)
}

// manyDocs appends docs of three kinds in two teams, with many that share a moment, and gives them in their order.
func manyDocs(t *testing.T, j journal.Journal) (all []journal.Doc) {
	t.Helper()
	for _, team := range []string{"a", "b"} {
		b := journal.Batch{Team: team}
		for i := range 30 {
			kind := []string{"agent", "message", "turn"}[i%3]
			b.Docs = append(b.Docs, doc(kind, fmt.Sprintf("%s%02d", team, i), team, int64(i/7)))
		}
		mustAppend(t, j, b)
		all = append(all, b.Docs...)
	}
	slices.SortFunc(all, func(x, y journal.Doc) int { return position(x).compare(position(y)) })
	return all
}

func testDocFilters(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	all := manyDocs(t, j)
	for _, q := range []journal.Query{
		{}, {Kind: "turn"}, {Team: "a"}, {Kind: "turn", Team: "b"}, {ID: "a07"}, {Kind: "message", ID: "a07"},
		{Agent: "agent-a"}, {Kind: "agent", Agent: "agent-b"}, {Path: "b/worker"}, {Kind: "turn", Path: "b/worker"},
		{Kind: "turn", Team: "a", Path: "b/worker"}, {Kind: "none"}, {ID: "' OR 1=1"},
	} {
		var want []journal.Doc
		for _, d := range all {
			if selects(q, d) {
				want = append(want, d)
			}
		}
		equal(t, fmt.Sprintf("%+v", q), allDocs(t, j, q), want)
		q.Newest = true
		slices.Reverse(want)
		equal(t, fmt.Sprintf("%+v", q), allDocs(t, j, q), want)
	}
}

func testDocPages(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	all := manyDocs(t, j)
	newest := slices.Clone(all)
	slices.Reverse(newest)
	for _, limit := range []int{1, 4, 7, len(all), len(all) + 1} {
		equal(t, "pages", allDocs(t, j, journal.Query{Limit: limit}), all)
		equal(t, "pages back", allDocs(t, j, journal.Query{Limit: limit, Newest: true}), newest)
	}
	page, next, err := j.Docs(t.Context(), journal.Query{Limit: 4})
	if err != nil || len(page) != 4 || next == "" {
		t.Fatalf("%d docs, cursor %q, %v", len(page), next, err)
	}
	// A doc before the cursor that comes late does not shift the pages after it.
	mustAppend(t, j, journal.Batch{Team: "c", Docs: []journal.Doc{doc("turn", "late", "c", -1)}})
	equal(t, "the rest", allDocs(t, j, journal.Query{After: next}), all[4:])
	for _, bad := range []string{"!", "AAAA", next[:len(next)/2]} {
		_, _, err := j.Docs(t.Context(), journal.Query{After: bad})
		refused(t, err, substrat.CodeInvalid)
	}
}
