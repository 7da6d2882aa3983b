package remote

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"substrat.dev/substrat"
)

// tokenBytes is how much chance a token holds. It is written in hexadecimal.
const tokenBytes = 32

// Token gives the token in a file, which is made where there is none. A file that others may read is refused: its token
// may be known by now.
func Token(path string) (string, error) {
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	return Rotate(path)
}

// Rotate replaces the token in a file. A daemon that runs takes the new one, and only that, at once.
func Rotate(path string) (string, error) {
	var b [tokenBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	token := hex.EncodeToString(b[:])
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return "", substrat.Errorf(substrat.CodeStorage, "cannot write the token: %v", err)
	}
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", substrat.Errorf(substrat.CodeStorage, "cannot write the token: %v", err)
	}
	return token, nil
}

// readToken reads a token, and nothing that could be guessed.
func readToken(path string) (string, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Mode().Perm()&0o077 != 0 {
		return "", substrat.Errorf(substrat.CodeForbidden, "cannot use the token in %s: others may read it, or it is no file", path).
			WithHint("substrat daemon token --rotate makes a new one")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", substrat.Errorf(substrat.CodeStorage, "cannot read the token: %v", err)
	}
	token := strings.TrimSpace(string(data))
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != tokenBytes {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot use the token in %s: it is not %d bytes in hexadecimal", path, tokenBytes).
			WithHint("substrat daemon token --rotate makes a new one")
	}
	return token, nil
}

// same compares in a time that says nothing of where they differ, nor of how long they are.
func same(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
