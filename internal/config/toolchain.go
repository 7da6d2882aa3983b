package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Toolchain is where a toolchain lies that a person installed in their home: what is shown of it, read-only, what goes before the search
// path, and what it needs to know. It names no file that holds a login.
type Toolchain struct {
	Read, Path []string
	Env        map[string]string
}

// toolchains are the places below a home, with * for any one name; the last that exists by name counts.
var toolchains = map[string]struct {
	read, path []string
	env        map[string]string
}{
	"go":     {[]string{"go/pkg/mod", "go/bin", "sdk"}, []string{"go/bin", "sdk/go*/bin"}, map[string]string{"GOMODCACHE": "go/pkg/mod"}},
	"rust":   {[]string{".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup"}, []string{".cargo/bin"}, map[string]string{"RUSTUP_HOME": ".rustup"}},
	"node":   {[]string{".nvm/versions", ".volta/tools", ".volta/bin", ".local/share/fnm"}, []string{".nvm/versions/node/*/bin", ".volta/bin", ".local/share/fnm/node-versions/*/installation/bin"}, nil},
	"python": {[]string{".pyenv", ".local/share/uv/python"}, []string{".pyenv/shims", ".pyenv/bin", ".local/share/uv/python/*/bin"}, map[string]string{"PYENV_ROOT": ".pyenv"}},
	"java":   {[]string{".sdkman/candidates"}, []string{".sdkman/candidates/java/current/bin", ".sdkman/candidates/maven/current/bin", ".sdkman/candidates/gradle/current/bin"}, nil},
	"bun":    {[]string{".bun/bin"}, []string{".bun/bin"}, nil},
	"mise":   {[]string{".local/share/mise"}, []string{".local/share/mise/shims"}, map[string]string{"MISE_DATA_DIR": ".local/share/mise"}},
}

// ToolchainNames are those that are known.
var ToolchainNames = slices.Sorted(maps.Keys(toolchains))

// FindToolchain looks for a toolchain below a home. What is not there is left out.
func FindToolchain(name, home string) Toolchain {
	t, out := toolchains[name], Toolchain{Env: map[string]string{}}
	last := func(pattern string) (string, bool) {
		found, err := filepath.Glob(filepath.Join(home, pattern))
		if err != nil || len(found) == 0 {
			return "", false
		}
		return found[len(found)-1], true
	}
	for _, p := range t.read {
		if _, err := os.Stat(filepath.Join(home, p)); err == nil {
			out.Read = append(out.Read, filepath.Join(home, p))
		}
	}
	for _, p := range t.path {
		if dir, ok := last(p); ok {
			out.Path = append(out.Path, dir)
		}
	}
	for k, p := range t.env {
		if dir, ok := last(p); ok {
			out.Env[k] = dir
		}
	}
	return out
}
