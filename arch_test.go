package substrat_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "substrat.dev/substrat"

// allowed says who may import whom inside the module, and why the line is drawn there. A package that is not listed
// may not exist: a new one states its place here first.
var allowed = map[string]struct {
	may []string
	why string
}{
	"":                               {nil, "the words are a leaf"},
	"agentcli":                       {[]string{""}, "a library for others: it knows the words and nothing of the daemon"},
	"agentcli/scripted":              {[]string{"", "agentcli"}, "a provider speaks agentcli's vocabulary only"},
	"agentcli/redact":                {nil, "a leaf: text in, text out"},
	"agentcli/turnjson":              {[]string{"", "agentcli", "agentcli/redact"}, "a provider speaks agentcli's vocabulary only"},
	"agentcli/toolrouter":            {[]string{"", "agentcli", "agentcli/redact"}, "it does what an agent asks for and knows no CLI"},
	"agentcli/acp":                   {[]string{"", "agentcli", "agentcli/internal/headless"}, "a provider speaks agentcli's vocabulary only"},
	"agentcli/cursor":                {[]string{"", "agentcli", "agentcli/internal/stored"}, "a provider speaks agentcli's vocabulary only"},
	"agentcli/internal/headless":     {[]string{"", "agentcli"}, "what the headless providers share; it speaks the vocabulary and knows no CLI"},
	"agentcli/internal/headlesstest": {[]string{"", "agentcli"}, "tests of decoders; it knows the vocabulary only"},
	"agentcli/claude":                {[]string{"", "agentcli", "agentcli/internal/headless", "agentcli/internal/stored"}, "a provider speaks agentcli's vocabulary only"},
	"agentcli/codex":                 {[]string{"", "agentcli", "agentcli/internal/headless", "agentcli/internal/stored"}, "a provider speaks agentcli's vocabulary only"},
	"agentcli/gemini":                {[]string{"", "agentcli", "agentcli/internal/headless", "agentcli/internal/stored"}, "a provider speaks agentcli's vocabulary only"},
	"agentcli/internal/stored":       {[]string{"", "agentcli"}, "what the readers of stored conversations share; it speaks the vocabulary and knows no CLI"},
	"agentcli/internal/storedtest":   {[]string{"", "agentcli"}, "tests of these readers; it knows the vocabulary only"},
	"internal/resource":              {[]string{""}, "limits of the machine: it knows neither turns nor sandboxes, and the supervisor that links it stays small"},
	"internal/remote":                {[]string{""}, "who comes in over TCP: it stands before the API and does not know it"},
	"internal/straight":              {nil, "a leaf: one way to open what lies where agents write"},
	"internal/guard":                 {[]string{"", "internal/straight"}, "a table and looks at files: it mounts nothing and tells nobody"},
	"internal/secret":                {[]string{""}, "a leaf: where keys come from"},
	"client":                         {[]string{"", "agentcli", "internal/sock"}, "whoever links the client must not link the daemon"},
	"internal/team":                  {[]string{"", "internal/schedule"}, "the core is pure: no I/O, no clock; what a provider refused it keeps in the scheduler's form"},
	"internal/schedule":              {[]string{""}, "who gets a slot is pure: a plan follows from the fleet and the time"},
	"internal/render":                {[]string{"", "agentcli"}, "turns as text: it is given what to show and asks nobody"},
	"internal/top":                   {[]string{"", "agentcli", "client"}, "a user of the daemon like any other"},
	"internal/editor":                {[]string{"", "agentcli", "client"}, "a user of the daemon like any other, for an editor"},
	"internal/peers":                 {nil, "tests with real programs, behind a build tag"},
	"internal/attack":                {nil, "attempts to get out of a sandbox, behind a build tag: it sees the daemon from outside, and shares no code with it"},
	"internal/model":                 {nil, "stands for a foreign service: it shares no code with what is tested against it"},
	"internal/teamfile":              {[]string{"", "internal/config"}, "a file and its plan: carrying it out is the command line's"},
	"internal/search":                {[]string{""}, "a view beside the journal: it reads neither journal nor spool"},
	"internal/config":                {[]string{"", "internal/door", "agentcli/redact", "internal/secret"}, "a leaf: what a person wrote, and answers to it"},
	"internal/memory":                {nil, "a leaf: one figure of the machine"},
	"internal/journal":               {[]string{""}, "a seam: the interface knows no store and no rule"},
	"internal/journal/journaltest":   {[]string{"", "internal/journal"}, "the conformance suite knows the interface only"},
	"internal/journal/sqlite":        {[]string{"", "internal/journal"}, "a store knows the interface only"},
	"internal/turn":                  {[]string{"", "internal/sock", "internal/netns", "internal/door", "internal/resource", "agentcli/redact"}, "provider, sandbox and turn do not know each other"},
	"internal/sandbox":               {[]string{"", "internal/straight"}, "provider, sandbox and turn do not know each other"},
	"internal/sock":                  {[]string{""}, "a leaf"},
	"internal/workspace":             {[]string{""}, "directories and git on the host: it knows neither who may ask nor what runs there"},
	"internal/record":                {[]string{"", "agentcli"}, "a file and its format; it knows turns and calls, not who runs them"},
	"internal/shell":                 {[]string{"", "internal/door", "internal/netns", "internal/resource"}, "holds a sandbox as a shim does, for a person; what the sandbox is it is told"},
	"internal/netns":                 {nil, "a step between shim and bwrap: sockets, and nothing of who may use them"},
	"internal/door":                  {[]string{""}, "networking alone: it is given a policy and sockets, and knows neither turns nor sandboxes"},
	"internal/version":               {nil, "a leaf: one word"},
	"internal/confine":               {[]string{""}, "runs inside the sandbox before the agent, small and without state: it knows neither agents nor turns"},
	"internal/relay":                 {[]string{"internal/sock"}, "runs inside the sandbox, small and without state"},
	"internal/sim":                   {nil, "stands for a foreign program: it must not share the code it is there to check"},
	"internal/tool":                  {[]string{"", "internal/team", "internal/sock"}, "tools issue the core's commands through a host"},
	"internal/engine": {[]string{"", "agentcli", "internal/confine", "internal/door", "internal/resource", "internal/team", "internal/journal", "internal/sandbox", "internal/turn", "internal/tool", "internal/workspace", "internal/schedule", "internal/memory", "internal/search", "internal/record", "internal/guard", "internal/straight", "internal/secret", "internal/shell", "agentcli/redact"},
		"the one place that joins provider, sandbox and turn"},
	"internal/api":                       {[]string{"", "agentcli", "internal/engine"}, "routes translate; the engine answers"},
	"internal/providers":                 {[]string{"", "agentcli", "agentcli/acp", "agentcli/cursor", "agentcli/scripted", "agentcli/claude", "agentcli/codex", "agentcli/gemini", "agentcli/turnjson"}, "the list of providers, for the daemon and the command line alike"},
	"internal/daemon":                    {[]string{"", "agentcli", "internal/providers", "internal/api", "internal/config", "internal/engine", "internal/confine", "internal/netns", "internal/resource", "internal/journal/sqlite", "internal/sandbox", "internal/sock", "internal/team", "internal/tool", "internal/remote", "agentcli/redact", "internal/secret"}, "composition"},
	"internal/demo":                      {[]string{"", "client"}, "a user of the daemon like any other"},
	"internal/cli":                       {[]string{"", "agentcli", "agentcli/cursor", "agentcli/redact", "agentcli/toolrouter", "agentcli/turnjson", "client", "internal/daemon", "internal/demo", "internal/editor", "internal/providers", "internal/relay", "internal/render", "internal/sock", "internal/teamfile", "internal/tool", "internal/top", "internal/version", "internal/config", "internal/remote", "internal/shell"}, "the command line uses the client; only daemon, mcp, doctor, demo and sandbox shell reach further"},
	"internal/bench":                     {[]string{"*"}, "a program that measures the parts"},
	"internal/bench/agent":               {nil, "the program that is run must weigh nothing"},
	"internal/e2e":                       {[]string{"*"}, "tests of the whole"},
	"examples/run":                       {[]string{"agentcli", "agentcli/cursor"}, "an example of the library uses the library alone"},
	"examples/scripted/go/substratagent": {nil, "a library to be copied: it speaks the protocol and shares no code with the host"},
	"examples/scripted/go/echo":          {[]string{"examples/scripted/go/substratagent"}, "an example uses its library and nothing else"},
	"cmd/substrat":                       {[]string{"internal/cli", "internal/confine", "internal/shell", "internal/sim", "internal/turn", "internal/netns"}, "main chooses who runs"},
	"cmd/substrat-shim":                  {[]string{"internal/confine", "internal/turn", "internal/netns", "internal/relay", "internal/version"}, "main chooses who runs; what it links is started for every turn and has to stay small"},
}

// size alarms. A file over the limit is about to become a pot.
const (
	mostFileLines = 450
	mostFuncLines = 80
)

// source is one parsed file outside the tests.
type source struct {
	pkg, path string
	file      *ast.File
	lines     int
	fset      *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata" || path == "tools") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		if pkg == "." {
			pkg = ""
		}
		out = append(out, source{pkg: pkg, path: path, file: f, lines: lines(t, path), fset: fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("found %d source files: the walk is broken", len(out))
	}
	return out
}

func lines(t *testing.T, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		n++
	}
	return n
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		rule, ok := allowed[s.pkg]
		if !ok {
			t.Errorf("%s: package %q has no place in the architecture: add it to the table, with the reason", s.path, s.pkg)
			continue
		}
		for _, spec := range s.file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if s.pkg == "" && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
				t.Errorf("%s imports %s: the words use the standard library only", s.path, path)
			}
			rest, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			rest = strings.TrimPrefix(rest, "/")
			if !slices.Contains(rule.may, rest) && !slices.Contains(rule.may, "*") {
				t.Errorf("%s imports %q, which %q may not: %s", s.path, rest, s.pkg, rule.why)
			}
		}
	}
}

// TestPureCore keeps clocks, randomness, files and goroutines out of the rules.
func TestPureCore(t *testing.T) {
	banned := []string{"os", "io", "net", "math/rand", "math/rand/v2", "crypto/rand", "context", "log/slog"}
	for _, s := range sources(t) {
		if s.pkg != "internal/team" && s.pkg != "internal/schedule" {
			continue
		}
		for _, spec := range s.file.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); slices.Contains(banned, path) {
				t.Errorf("%s imports %s: time and ids come in with the command", s.path, path)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", s.fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				// What is worked out once and never changes may be worked out late.
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "sync" && n.Sel.Name != "OnceValue" {
					t.Errorf("%s locks: the rules are for one goroutine", s.fset.Position(n.Pos()))
				}
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "After", "Sleep", "NewTimer", "LoadLocation"}, n.Sel.Name) {
					t.Errorf("%s reads the clock or the machine", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

func TestDocs(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.pkg] = documented[s.pkg] || s.file.Doc != nil
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && f.Recv == nil && f.Doc == nil {
				t.Errorf("%s: %s has no doc comment", s.fset.Position(f.Pos()), f.Name.Name)
			}
		}
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %q has no doc comment: say what it owns and what it never does", pkg)
		}
	}
}

func TestSizes(t *testing.T) {
	perPackage, total := map[string]int{}, 0
	for _, s := range sources(t) {
		perPackage[s.pkg] += s.lines
		total += s.lines
		if s.lines > mostFileLines {
			t.Errorf("%s has %d lines, more than %d: split it by subject", s.path, s.lines, mostFileLines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line; n > mostFuncLines {
				t.Errorf("%s: %s has %d lines, more than %d", s.fset.Position(f.Pos()), f.Name.Name, n, mostFuncLines)
			}
		}
	}
	for pkg, n := range perPackage {
		if total > 10_000 && n*5 > total {
			t.Errorf("package %q has %d of %d lines: it is becoming a pot", pkg, n, total)
		}
	}
}

// TestNoMachinePaths keeps the project speaking of itself alone.
func TestNoMachinePaths(t *testing.T) {
	for _, s := range sources(t) {
		data, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"/wo" + "rk/", "proxy.golang" + ".org", "registry.npmjs" + ".org"} {
			if strings.Contains(string(data), word) {
				t.Errorf("%s names %q", s.path, word)
			}
		}
	}
}
