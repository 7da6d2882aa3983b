package secret

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"substrat.dev/substrat"
)

// most bounds a value: the kernel takes 128 KiB for one variable.
const most = 64 << 10

// fromFile gives the first line of a file that only its owner may read.
func fromFile(path string) (string, error) {
	// Without O_NONBLOCK a pipe in its place would be waited for.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", substrat.Errorf(substrat.CodeNotFound, "the file %s with a key is not there", path).WithHint("write the key into it: (umask 077; cat > %s)", path)
	case err != nil:
		return "", substrat.Errorf(substrat.CodeForbidden, "the file %s with a key cannot be read: %v", path, err)
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return "", substrat.Errorf(substrat.CodeForbidden, "%s is no regular file", path)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return "", substrat.Errorf(substrat.CodeForbidden, "the file %s with a key can be read or written by others", path).WithHint("chmod 600 %s", path)
	}
	line, err := bufio.NewReaderSize(io.LimitReader(f, most+1), 4<<10).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", substrat.Errorf(substrat.CodeForbidden, "the file %s with a key cannot be read: %v", path, err)
	}
	switch line = strings.TrimSpace(line); {
	case line == "":
		return "", substrat.Errorf(substrat.CodeNotFound, "the first line of %s is empty", path).WithHint("write the key into its first line")
	case len(line) > most:
		return "", substrat.Errorf(substrat.CodeTooLarge, "the first line of %s is longer than %d KiB", path, most>>10)
	case strings.ContainsRune(line, 0):
		return "", substrat.Errorf(substrat.CodeInvalid, "the first line of %s holds a NUL byte", path)
	}
	return line, nil
}
