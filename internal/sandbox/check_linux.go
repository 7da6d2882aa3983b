package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"substrat.dev/substrat"
)

// systemDirs may not be, nor lie inside, a workspace.
var systemDirs = []string{
	"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt", "/nix", "/opt",
	"/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", "/var/lib", "/var/tmp",
}

// kernelDirs may not hold a workspace or a bind either: they are views of the kernel, not files.
var kernelDirs = []string{"/proc", "/sys", "/dev"}

// checkPath enforces the form of a path. Absolute paths can never be read as an option of bwrap.
func checkPath(what, path string) error {
	switch {
	case strings.ContainsRune(path, 0):
		return substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the path of the %s holds a NUL byte", what)
	case !filepath.IsAbs(path):
		return substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the path of the %s is not absolute: %q", what, path)
	case filepath.Clean(path) != path:
		return substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the path of the %s is not clean: %q", what, path)
	}
	return nil
}

// resolve follows the links of a host path once, so that what is checked is what is mounted. missing says that it does
// not exist.
func resolve(what, path string) (real string, missing bool, err error) {
	if err := checkPath(what, path); err != nil {
		return "", false, err
	}
	real, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", true, substrat.Errorf(substrat.CodeNotFound, "cannot make a sandbox: the %s does not exist: %s", what, path)
	}
	if err != nil {
		return "", false, substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the %s: %v", what, err)
	}
	return real, false, nil
}

// checkWorkspace resolves the workspace and refuses one that would open the machine to the agent.
func checkWorkspace(path, privateHome string) (string, error) {
	real, _, err := resolve("workspace", path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the workspace is not a directory: %s", path)
	}
	keep := append([]string{privateHome}, systemDirs...)
	if home, err := os.UserHomeDir(); err == nil {
		keep = append(keep, home)
	}
	for _, p := range []string{path, real} {
		for _, k := range keep {
			if k != "" && within(k, p) {
				return "", substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the workspace %s holds %s", path, k).
					WithHint("choose a directory of its own")
			}
		}
		if err := checkNotKernel("workspace", p); err != nil {
			return "", err
		}
	}
	if real != path {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the workspace %s is, or lies behind, a symbolic link", path).
			WithHint("name the directory itself")
	}
	return real, nil
}

func checkNotKernel(what, path string) error {
	for _, k := range kernelDirs {
		if within(path, k) {
			return substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the %s lies in %s: %s", what, k, path)
		}
	}
	return nil
}

// within says whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
