// Package secret says where keys come from and hands their values to who starts a process with them.
//
// It owns the ways to name a key in a configuration, and a type for the value that no printer, encoder or log takes
// apart. It keeps no value, caches none, and never puts one into an error: those name the place only.
package secret

import (
	"context"
	"errors"
	"os"
	"strings"

	"substrat.dev/substrat"
)

// hidden stands for every source and value in whatever is printed, encoded or logged.
const hidden = "[secret]"

// kind is a way to give a value.
type kind int

const (
	literal kind = iota // the text itself, for what is no secret
	variable
	file
	keyring
)

// Source is where a value comes from:
//
//	$NAME                  the daemon's environment
//	file:/path             the first line of a file that nobody else may read
//	keyring:service/user   the keyring of the system
//	anything else          the text itself, for what is no secret
//
// The zero one is an empty text.
type Source struct {
	kind kind
	// name is the variable, the path or the service; user is the keyring's; text is a literal's.
	name, user string
	text       Value
}

// Parse reads one. A text that begins like a source and is none is refused, without repeating it.
func Parse(text string) (Source, error) {
	if name, ok := strings.CutPrefix(text, "$"); ok {
		if !isName(name) {
			return Source{}, substrat.Errorf(substrat.CodeInvalid, "after the $ stands no name of a variable").WithHint("write $NAME, file:/path or keyring:service/user")
		}
		return Source{kind: variable, name: name}, nil
	}
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
			return Source{}, substrat.Errorf(substrat.CodeInvalid, "after file: stands no absolute path").WithHint("write file:/path")
		}
		return Source{kind: file, name: path}, nil
	}
	if entry, ok := strings.CutPrefix(text, "keyring:"); ok {
		service, user, both := strings.Cut(entry, "/")
		if !both || service == "" || user == "" {
			return Source{}, substrat.Errorf(substrat.CodeInvalid, "after keyring: stands no entry").WithHint("write keyring:service/user")
		}
		return Source{kind: keyring, name: service, user: user}, nil
	}
	return Source{text: New(text)}, nil
}

func isName(s string) bool {
	for i, c := range s {
		if !(c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Source) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return errors.New(err.Error())
	}
	*s = parsed
	return nil
}

// Literal says that the value stands in the configuration itself.
func (s Source) Literal() bool { return s.kind == literal }

// Kept says that the value is kept where secrets are: in a file of its own or a keyring.
func (s Source) Kept() bool { return s.kind == file || s.kind == keyring }

// File says that the value is in a file.
func (s Source) File() bool { return s.kind == file }

// Variable is the variable of the daemon's environment that the value comes from, "" for another source.
func (s Source) Variable() string {
	if s.kind == variable {
		return s.name
	}
	return ""
}

// Place names the source for people; it never says the value.
func (s Source) Place() string {
	switch s.kind {
	case variable:
		return "the variable " + s.name
	case file:
		return "the file " + s.name
	case keyring:
		return "the entry " + s.name + "/" + s.user + " of the keyring"
	default:
		return "the configuration"
	}
}

// Value fetches the value. Errors are *substrat.Error with the code not_found where there is none, forbidden where it may
// not be taken, unavailable where its keeper does not answer; all of them say what to do, and none of them what was read.
func (s Source) Value(ctx context.Context) (Value, error) {
	switch s.kind {
	case variable:
		text := os.Getenv(s.name)
		if text == "" {
			return Value{}, substrat.Errorf(substrat.CodeNotFound, "the variable %s is not set in the daemon's environment", s.name).
				WithHint("set it where the daemon is started and start the daemon again, or take the line out of substrat.toml")
		}
		return New(text), nil
	case file:
		text, err := fromFile(s.name)
		return New(text), err
	case keyring:
		text, err := fromKeyring(ctx, s.name, s.user)
		return New(text), err
	default:
		return s.text, nil
	}
}
