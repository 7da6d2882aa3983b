package toolrouter

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzHTML: whatever a page is, there is text without more than was there.
func FuzzHTML(f *testing.F) {
	f.Add("<title>t</title><p>a<script>b</script></p><pre>c")
	f.Fuzz(func(t *testing.T, page string) {
		page = strings.ToValidUTF8(page, "")
		title, text := readHTML(page)
		if !utf8.ValidString(title+text) || len(title)+len(text) > 3*len(page)+10 {
			t.Errorf("title %q, text %q of %q", title, text, page)
		}
	})
}
