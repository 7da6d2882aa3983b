package toolrouter

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// silent are the elements whose content is not for readers, blocks those that begin a line.
var (
	silent = atoms(atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Head)
	blocks = atoms(atom.P, atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside, atom.Ul, atom.Ol, atom.Li,
		atom.Table, atom.Tr, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Pre, atom.Blockquote, atom.Br, atom.Hr, atom.Dl, atom.Dt, atom.Dd, atom.Form, atom.Figure)
)

func atoms(list ...atom.Atom) map[atom.Atom]bool {
	m := map[atom.Atom]bool{}
	for _, a := range list {
		m[a] = true
	}
	return m
}

// reader makes text of HTML: a line for each block, no space twice but in what is preformatted, no scripts.
type reader struct {
	out, title strings.Builder
	// skip counts the open elements whose content is not told, pre the preformatted ones.
	skip, pre      int
	skipped        atom.Atom
	inTitle        bool
	space, lineEnd bool
}

// readHTML gives the title and the text of a page. It never fails: what is no HTML has text too.
func readHTML(page string) (title, text string) {
	r := &reader{}
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(strings.Fields(r.title.String()), " "), strings.TrimSpace(r.out.String())
		case html.TextToken:
			r.text(string(z.Text()))
		case html.StartTagToken:
			name, _ := z.TagName()
			r.start(atom.Lookup(name))
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			r.line(atom.Lookup(name))
		case html.EndTagToken:
			name, _ := z.TagName()
			r.end(atom.Lookup(name))
		}
	}
}

func (r *reader) start(a atom.Atom) {
	switch {
	case a == atom.Title:
		r.inTitle = true
	case r.skip > 0 && r.skipped == atom.Head && (a == atom.Body || blocks[a]):
		r.skip = 0 // the end of a head need not be written
	case r.skip > 0:
		if a == r.skipped {
			r.skip++
		}
		return
	case silent[a]:
		r.skip, r.skipped = 1, a
		return
	}
	r.line(a)
	if a == atom.Pre {
		r.pre++
	}
	if a == atom.Li {
		r.flush()
		r.out.WriteString("- ")
	}
	if a == atom.Td || a == atom.Th {
		r.space = true
	}
}

func (r *reader) end(a atom.Atom) {
	if a == atom.Title {
		r.inTitle = false
	}
	if r.skip > 0 {
		if a == r.skipped {
			r.skip--
		}
		return
	}
	r.line(a)
	if a == atom.Pre && r.pre > 0 {
		r.pre--
	}
}

func (r *reader) line(a atom.Atom) {
	if r.skip == 0 && blocks[a] {
		r.lineEnd = true
	}
}

// flush writes the space or line end that is due.
func (r *reader) flush() {
	switch {
	case r.out.Len() == 0:
	case r.lineEnd:
		r.out.WriteByte('\n')
	case r.space:
		r.out.WriteByte(' ')
	}
	r.space, r.lineEnd = false, false
}

func (r *reader) text(s string) {
	if r.inTitle {
		r.title.WriteString(s)
		return
	}
	if r.skip > 0 {
		return
	}
	if r.pre > 0 {
		r.flush()
		r.out.WriteString(s)
		return
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		r.space = r.space || s != ""
		return
	}
	r.space = r.space || strings.TrimLeft(s, " \t\r\n\f") != s
	for i, w := range words {
		if i > 0 {
			r.space = true
		}
		r.flush()
		r.out.WriteString(w)
	}
	r.space = strings.TrimRight(s, " \t\r\n\f") != s
}
