package agentcli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// plan is a command with everything around it.
type plan struct {
	request Request
	command Command
	home    string
	env     []string
}

// plan asks the provider what to run, and puts its files in place.
func (s *Session) plan(ctx context.Context, prompt string) (plan, error) {
	own, err := os.UserHomeDir()
	if err != nil && s.o.Home == "" {
		return plan{}, substrat.Errorf(substrat.CodeInvalid, "cannot run the agent: there is no home directory: %v", err).WithHint("set HOME, or give a private home")
	}
	x := plan{home: s.o.Home}
	if x.home == "" {
		x.home = own
	}
	x.request = s.request(ctx, prompt, x.home)
	if x.command, err = s.p.Command(x.request); err != nil {
		return plan{}, err
	}
	if s.o.Home == "" && len(x.command.Files) > 0 {
		if x.home, err = s.cachedHome(); err != nil {
			return plan{}, err
		}
		x.request.Home = x.home
		if x.command, err = s.p.Command(x.request); err != nil {
			return plan{}, err
		}
	}
	if x.home != own {
		if err := furnish(x.home, own, x.command); err != nil {
			return plan{}, err
		}
	}
	x.env = s.environ(x)
	return x, nil
}

// cachedHome is the private home for a workspace. It stays, so that conversations can be resumed.
func (s *Session) cachedHome() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot make a home for the agent: %v", err).WithHint("give a private home")
	}
	sum := sha256.Sum256([]byte(s.o.Dir))
	return filepath.Join(cache, "substrat", "homes", s.p.Info().Name+"-"+hex.EncodeToString(sum[:8])), nil
}

// furnish makes a private home: the provider's files, and links to what of the user's home the program needs. Files that
// a CLI would look for in the workspace are put where it looks for those of its user.
func furnish(home, own string, cmd Command) error {
	fail := func(err error) error {
		return substrat.Errorf(substrat.CodeStorage, "cannot prepare the agent's home %s: %v", home, err)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fail(err)
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = root.Close() }()
	for n, f := range cmd.Files {
		path := filepath.FromSlash(f.Path)
		if _, err := root.Lstat(path); err == nil && f.KeepExisting {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fail(err)
		}
		// It is there whole or not at all: another run may read it now, and one that was cut off would be kept.
		made := fmt.Sprintf("%s.%d-%d.new", path, os.Getpid(), n)
		if err := root.WriteFile(made, f.Data, 0o600); err != nil {
			return fail(err)
		}
		if err := root.Rename(made, path); err != nil {
			return fail(err)
		}
	}
	for _, x := range cmd.Exposes {
		at, ok := strings.CutPrefix(x.At, "~/")
		if !ok {
			continue
		}
		if _, err := os.Stat(x.Host); err != nil && x.Optional || home == own {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return fail(err)
		}
		if err := root.Symlink(x.Host, at); err != nil && !errors.Is(err, fs.ErrExist) {
			return fail(err)
		}
	}
	return nil
}

// passed are the variables that a process gets from its host's environment when nothing else is said.
var passed = []string{
	"PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy",
	"https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
}

// environ is everything the process gets, each variable once: what it inherits, what the provider wants, what the caller
// wants.
func (s *Session) environ(x plan) []string {
	env := map[string]string{}
	from := s.o.Environ
	if from == nil {
		for _, name := range passed {
			if v, ok := os.LookupEnv(name); ok {
				env[name] = v
			}
		}
		for _, v := range os.Environ() {
			if strings.HasPrefix(v, "LC_") {
				from = append(from, v)
			}
		}
	}
	for _, v := range from {
		if name, value, ok := strings.Cut(v, "="); ok {
			env[name] = value
		}
	}
	env["HOME"] = x.home
	if _, ok := env["LANG"]; !ok {
		env["LANG"] = "C.UTF-8"
	}
	for name, value := range x.command.Env {
		env[name] = value
	}
	for name, value := range s.o.Env {
		env[name] = value
	}
	for name, value := range s.o.Profile.Env {
		env[name] = value
	}
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}
