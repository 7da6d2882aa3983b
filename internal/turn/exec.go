package turn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// execProcess starts argv from the calling thread, which is to live as long as the shim.
func (s *shim) execProcess(argv []string, fds []int, attributes *syscall.SysProcAttr) (int, error) {
	dir := workDir(s.spec)
	path, err := lookPath(argv[0], environment(s.spec))
	if err != nil {
		return 0, fmt.Errorf("cannot start %s: %w", argv[0], err)
	}
	pid, err := s.fork(path, argv, dir, fds, attributes)
	if err != nil {
		return 0, fmt.Errorf("cannot start %s: %w", argv[0], explain(err, path, dir))
	}
	return pid, nil
}

func startFile(path string, argv, env []string, dir string, fds []int, attributes *syscall.SysProcAttr) (int, error) {
	files := make([]uintptr, len(fds))
	for i, fd := range fds {
		files[i] = uintptr(fd)
	}
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: files, Sys: attributes})
}

// lookPath finds a bare name in the PATH of the process's own environment, as a shell would.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var path string
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = p
		}
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if !filepath.IsAbs(file) {
			continue
		}
		if info, err := os.Stat(file); err == nil && !info.IsDir() && unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("there is no such program in PATH (%s)", path)
}

// explain says what the kernel's error means here: the same ENOENT comes for three different files.
func explain(err error, path, dir string) error {
	if info, statErr := os.Stat(dir); statErr != nil || !info.IsDir() {
		return fmt.Errorf("its working directory %s is not there: %w", dir, err)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	_, statErr := os.Stat(path)
	switch {
	case errors.Is(err, unix.ENOENT) && statErr == nil:
		return fmt.Errorf("the interpreter or loader that it names is missing: %w", err)
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("there is no such program: %w", err)
	case errors.Is(err, unix.E2BIG):
		return fmt.Errorf("an argument is longer than 128 KiB, or all arguments and variables together are too long: %w", err)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("it may not be executed: %w", err)
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("the machine has no room for another process: %w", err)
	}
	return err
}
