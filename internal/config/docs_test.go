package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDocs: what docs/substrat.toml shows can be read, defaults and examples.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/substrat.toml")
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`^#{1,2} (\[|[a-z_]+ = )`)
	var defaults, all strings.Builder
	for line := range strings.Lines(string(data)) {
		bare := line
		if key.MatchString(line) {
			bare = strings.TrimLeft(line, "# ")
		}
		all.WriteString(bare)
		if strings.HasPrefix(line, "# ") {
			defaults.WriteString(bare)
		} else if !strings.HasPrefix(line, "##") {
			defaults.WriteString(line)
		}
	}
	c, err := Parse("docs/substrat.toml", []byte(all.String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Policies) != 2 || len(c.Gates) != 1 || len(c.Budgets) != 1 || c.Servers["github"].Tools != 12 || c.Servers["tracker"].URL == "" || c.Limits.For("research").Depth != 12 {
		t.Errorf("the examples say something else: %+v", c)
	}
	d, err := Parse("docs/substrat.toml", []byte(defaults.String()))
	if err != nil {
		t.Fatal(err)
	}
	if d.Memory.FreeLeast != DefaultFreeLeast || time.Duration(d.Idle.SuspendAfter) != DefaultSuspendAfter {
		t.Errorf("the defaults are others: %+v", d)
	}
}
