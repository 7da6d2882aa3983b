package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"substrat.dev/substrat"
)

// etcLive is what stays a mount of the host's own file: it changes while a daemon runs, or is too large to copy.
var etcLive = []string{"ld.so.cache", "pki/ca-trust", "pki/tls/certs", "ssl/certs"}

// etcNetworkLive is the same where the host's network is used.
var etcNetworkLive = []string{"hosts", "resolv.conf"}

// etcCopyMost bounds one file that is copied.
const etcCopyMost = 1 << 20

// PrepareEtc makes in dir, which is emptied, what sandboxes show as /etc: copies of the files that programs need, and
// places for what is mounted live. Each mount costs a sandbox a tenth of a millisecond, so thirty files come as one.
func PrepareEtc(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return substrat.Errorf(substrat.CodeStorage, "cannot clear %s: %v", dir, err)
	}
	for _, name := range append(etcFiles, etcNetworkFiles...) {
		if err := copyEtc(name, dir); err != nil {
			return substrat.Errorf(substrat.CodeStorage, "cannot copy /etc/%s for the sandboxes: %v", name, err)
		}
	}
	// The host's own names are for the host's network; elsewhere there is the loopback, and the egress door's names on it.
	for name, text := range map[string]string{
		"hosts": "127.0.0.1 localhost substrat\n::1 localhost\n", "resolv.conf": "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return substrat.Errorf(substrat.CodeStorage, "cannot write /etc/%s for the sandboxes: %v", name, err)
		}
	}
	return nil
}

// copyEtc copies a file or a directory of small files, links as they are. What is mounted live gets an empty place only.
func copyEtc(name, dir string) error {
	src := filepath.Join("/etc", name)
	return filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what is not there, or not ours to read, is left out
		}
		rel, err := filepath.Rel("/etc", path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		switch {
		case isLive(rel):
			return livePlace(path, to)
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			return copyLink(path, to)
		default:
			return copySmall(path, to)
		}
	})
}

func isLive(rel string) bool {
	for _, live := range append(etcLive, etcNetworkLive...) {
		if rel == live {
			return true
		}
	}
	return false
}

// livePlace makes a place to mount a file or a directory on.
func livePlace(path, to string) error {
	st, err := os.Stat(path)
	if err != nil {
		return nil // a dangling link has nothing to mount
	}
	if st.IsDir() {
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		return fs.SkipDir
	}
	return os.WriteFile(to, nil, 0o644)
}

// copyLink copies a link as it is, and a link to a file elsewhere in /etc as that file: its target may not be shown.
func copyLink(path, to string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return nil // gone meanwhile
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && strings.HasPrefix(real, "/etc/") {
		return copySmall(real, to)
	}
	return os.Symlink(target, to)
}

func copySmall(path, to string) error {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > etcCopyMost {
		return nil // not a small file: left out
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil // not readable for us is not needed by an agent
	}
	return os.WriteFile(to, data, 0o644)
}

// etcMounts shows /etc: the prepared directory and what is mounted live, or, without one, file by file.
func etcMounts(prepared string, hostNetwork bool) []string {
	names, out := etcFiles, []string(nil)
	if hostNetwork {
		names = append(append([]string(nil), etcFiles...), etcNetworkFiles...)
	}
	if prepared != "" {
		out = append(out, "--ro-bind", prepared, "/etc")
		if names = etcLive; hostNetwork {
			names = append(append([]string(nil), etcLive...), etcNetworkLive...)
		}
	}
	for _, name := range names {
		if prepared != "" {
			if _, err := os.Stat(filepath.Join(prepared, name)); err != nil {
				continue
			}
		}
		out = append(out, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	return out
}
