package headless

import (
	"bufio"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Program is a CLI that may be installed.
type Program struct {
	// Name is what it is called, PathVariable the variable that names one elsewhere.
	Name, PathVariable string
	// Places are where installers put it beside the search path, below the user's home.
	Places []string
	// Remedy tells how to get it.
	Remedy string
}

// Installed is a program as it is to be run: a native one by its path, a script by the runtime it names, so that neither
// has to be on a sandbox's search path.
type Installed struct {
	// Path is where it was found, Argv how it is run.
	Path string
	Argv []string
	// Exposes are what of the host it needs to see.
	Exposes []agentcli.Expose
}

// Find looks for the program: what command says if it says anything, where the variable says, on the search path, and
// where its installers put it.
func (p Program) Find(command []string) (Installed, error) {
	if len(command) > 0 {
		found, err := p.named(command[0], "which was asked for")
		found.Argv = append(found.Argv, command[1:]...)
		return found, err
	}
	if path := os.Getenv(p.PathVariable); path != "" {
		return p.named(path, "which "+p.PathVariable+" names")
	}
	names := []string{p.Name}
	if home, err := os.UserHomeDir(); err == nil {
		for _, place := range p.Places {
			names = append(names, filepath.Join(home, place))
		}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil || errors.Is(err, exec.ErrDot) {
			return locate(path)
		}
	}
	return Installed{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot find %s", p.Name).WithHint("%s", p.Remedy)
}

func (p Program) named(name, why string) (Installed, error) {
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return Installed{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot run %s, %s: %v", name, why, err).WithHint("%s", p.Remedy)
	}
	return locate(path)
}

// locate finds the file behind a name, and for a script what runs it.
func locate(path string) (Installed, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Installed{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot find %s: %v", path, err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Installed{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot follow %s: %v", path, err)
	}
	found := Installed{Path: path, Argv: []string{real}, Exposes: []agentcli.Expose{{Host: installation(real)}}}
	if !nodeScript(real) {
		return found, nil
	}
	node, err := nodeRuntime()
	if err != nil {
		return Installed{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot run %s: it is a script for Node.js, and no node is on the search path", path).
			WithHint("install Node.js 22 or later")
	}
	found.Argv = []string{node, real}
	found.Exposes = append(found.Exposes, agentcli.Expose{Host: node})
	return found, nil
}

// installation is what has to be seen for a program to run: for a package of npm's all packages beside it, since what it
// depends on is there; else the directory it is in, unless that is one where everybody's programs are.
func installation(real string) string {
	if i := strings.Index(real, "/node_modules/"); i >= 0 {
		return real[:i+len("/node_modules")]
	}
	switch dir := filepath.Dir(real); filepath.Base(dir) {
	case "bin", "sbin", "versions", "/":
		return real
	default:
		return dir
	}
}

// nodeScript reports a file whose first line names node.
func nodeScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	return strings.HasPrefix(string(line), "#!") && strings.Contains(string(line), "node")
}

// nodeRuntime finds the node that a script would get. What is found by its name may be a launcher that picks one of
// several: node itself knows.
func nodeRuntime() (string, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && strings.HasPrefix(filepath.Base(real), "node") && !nodeScript(real) {
		return filepath.Abs(real)
	}
	return ask(context.Background(), path, "-p", "process.execPath"), nil
}

// Version asks a program for its version.
func (i Installed) Version(ctx context.Context) string {
	return ask(ctx, append(i.Argv[:len(i.Argv):len(i.Argv)], "--version")...)
}

// ask gives the first line that a program prints. It is given a moment only: a foreign program may do anything.
func ask(ctx context.Context, argv ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}

// Probe tells what is installed. Login says whether there is an account, and whose.
func (p Program) Probe(ctx context.Context, command []string, login func() (agentcli.Login, string), loginRemedy string) agentcli.Status {
	found, err := p.Find(command)
	if err != nil {
		return agentcli.Status{Problem: err.Error(), Remedy: p.Remedy}
	}
	s := agentcli.Status{Installed: true, Path: found.Path, Version: found.Version(ctx)}
	if s.Version == "" {
		s.Problem, s.Remedy = "it does not tell its version: it may not run on this machine", p.Remedy
		return s
	}
	s.Login, s.Account = login()
	if s.Login == agentcli.LoggedOut {
		s.Problem, s.Remedy = "nobody is logged in", loginRemedy
	}
	return s
}

// UserFile is a file below the home of the user who runs us, "" where there is none.
func UserFile(path string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	full := filepath.Join(home, path)
	if st, err := os.Stat(full); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return full
}

// PickEnv takes some variables of an environment. One that is set but empty is left out: an empty key hides a login that
// would work.
func PickEnv(getenv func(string) string, names ...string) map[string]string {
	env := map[string]string{}
	for _, name := range names {
		if v := getenv(name); v != "" {
			env[name] = v
		}
	}
	return env
}

// HasAny reports whether one of some variables is set.
func HasAny(env map[string]string, names ...string) bool {
	for _, n := range names {
		if env[n] != "" {
			return true
		}
	}
	return false
}

// Merge gives the variables of both; those of over go before.
func Merge(env, over map[string]string) map[string]string {
	out := make(map[string]string, len(env)+len(over))
	maps.Copy(out, env)
	maps.Copy(out, over)
	return out
}

// Placeholder is what stands for a key inside a sandbox while the real one stays outside.
const Placeholder = "substrat-placeholder-0-not-a-key-000"
