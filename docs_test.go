package substrat_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName   = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`)
	scriptName = regexp.MustCompile(`\b\w+\.txtar\b`)
	declared   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// TestConformanceNamesTests: the table of what is promised names tests that exist, in the package that it says.
func TestConformanceNamesTests(t *testing.T) {
	tests := map[string]map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		dir := filepath.ToSlash(filepath.Dir(path))
		for _, m := range declared.FindAllSubmatch(data, -1) {
			if tests[dir] == nil {
				tests[dir] = map[string]bool{}
			}
			tests[dir][string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.Contains(cells[1], "---") || strings.TrimSpace(cells[1]) == "behaviour" {
			continue
		}
		rows++
		named := 0
		for _, part := range strings.Split(cells[2], ";") {
			dir := "internal/e2e"
			if m := regexp.MustCompile("`([^`]+)`").FindStringSubmatch(part); m != nil {
				dir = m[1]
			} else if strings.Contains(part, "*peers*") {
				dir = "internal/peers"
			}
			for _, name := range testName.FindAllString(part, -1) {
				named++
				if !tests[dir][name] {
					t.Errorf("%s has no %s: %s", dir, name, strings.TrimSpace(cells[1]))
				}
			}
			for _, name := range scriptName.FindAllString(part, -1) {
				named++
				if _, err := os.Stat(filepath.Join("internal/e2e/testdata/script", name)); err != nil {
					t.Errorf("there is no script %s: %s", name, strings.TrimSpace(cells[1]))
				}
			}
		}
		if named == 0 {
			t.Errorf("no test: %s", strings.TrimSpace(cells[1]))
		}
	}
	if rows < 40 {
		t.Errorf("%d rows: the table is not read", rows)
	}
}
