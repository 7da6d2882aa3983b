package daemon

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"substrat.dev/substrat/internal/config"
	"substrat.dev/substrat/internal/engine"
	"substrat.dev/substrat/internal/team"
)

// TestDocumentedDefaults: the defaults that docs/substrat.toml shows are those that hold without a file.
func TestDocumentedDefaults(t *testing.T) {
	data, err := os.ReadFile("../../docs/substrat.toml")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^# ([a-z_]+ = )`).ReplaceAllString(string(data), "$1")
	c, err := config.Parse("docs/substrat.toml", []byte(shown))
	if err != nil {
		t.Fatal(err)
	}
	r, set := rules{c: c}, strings.Count(shown, " = ")
	if l := r.Limits("x"); l != team.DefaultLimits() {
		t.Errorf("limits %+v, want %+v", l, team.DefaultLimits())
	}
	if r.Rates() != engine.DefaultRates() || c.Slots.Total != DefaultSlots || set < 25 {
		t.Errorf("rates %+v, slots %d, %d values", r.Rates(), c.Slots.Total, set)
	}
}
