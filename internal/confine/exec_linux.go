package confine

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// execute becomes argv, found as execvp finds it: in the PATH of env, a script without an interpreter by the shell. It
// returns only where that failed, with the code to exit with.
func execute(argv, env []string) (int, error) {
	name := argv[0]
	if strings.Contains(name, "/") {
		return failed(name, try(name, argv, env))
	}
	last := error(syscall.ENOENT)
	for dir := range strings.SplitSeq(pathOf(env), ":") {
		file := name // an empty element is the working directory
		if dir != "" {
			file = dir + "/" + name
		}
		switch err := try(file, argv, env); {
		case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR):
		case errors.Is(err, syscall.EACCES):
			last = err // another directory may have one that runs; if none has, this is the reason
		default:
			return failed(file, err)
		}
	}
	return failed(name, last)
}

func try(file string, argv, env []string) error {
	err := syscall.Exec(file, argv, env)
	if errors.Is(err, syscall.ENOEXEC) {
		return syscall.Exec("/bin/sh", append([]string{"sh", file}, argv[1:]...), env)
	}
	return err
}

func failed(name string, err error) (int, error) {
	code := ExitNotExecutable
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) {
		code = ExitNotFound
	}
	return code, fmt.Errorf("the agent's program %q cannot be started inside the sandbox: %w", name, err)
}

func pathOf(env []string) string {
	for _, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			return path
		}
	}
	return "/bin:/usr/bin"
}
