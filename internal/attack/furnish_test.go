//go:build attack && linux

package attack

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
)

// Canaries: what is in files, and what is in the daemon's environment.
const (
	fileCanary = "canary-in-a-file-7f3a91"
	envCanary  = "canary-in-the-environment-52c0de"
)

// listeners are the host's, which nobody inside may reach.
type listeners struct {
	mu     sync.Mutex
	counts map[string]int
	opened atomic.Int32
}

func (l *listeners) hit(name string) { l.mu.Lock(); l.counts[name]++; l.mu.Unlock() }

func (l *listeners) of(name string) int { l.mu.Lock(); defer l.mu.Unlock(); return l.counts[name] }

// serve counts what arrives. It answers, so that the attacker knows too.
func (l *listeners) serve(name, networkName, address string) (string, error) {
	ln, err := net.Listen(networkName, address)
	if err != nil {
		return "", err
	}
	l.opened.Add(1)
	go func() { // lives as long as the process
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			l.hit(name)
			_, _ = c.Write([]byte("hello from the host\n"))
			_ = c.Close()
		}
	}()
	return ln.Addr().String(), nil
}

func (l *listeners) serveUDP(name string) (string, error) {
	c, err := net.ListenPacket("udp", "0.0.0.0:0")
	if err != nil {
		return "", err
	}
	go func() {
		buf := make([]byte, 512)
		for {
			_, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			l.hit(name)
			_, _ = c.WriteTo([]byte("hello"), from)
		}
	}()
	return c.LocalAddr().String(), nil
}

// furnish makes everything of the host that the attacker is after, all of it below the world's directory.
func (w *world) furnish() {
	f := &w.facts
	f.Dir, f.HostHome, f.Home, f.Canary, f.Root = w.dir, w.hostHome, w.home, fileCanary, os.Geteuid() == 0
	f.Shared, f.Private = filepath.Join(w.dir, "shared"), filepath.Join(w.dir, "private")
	for _, d := range []string{f.Shared, f.Private, "strange", "witness", "vault/inner/empty", "person/.ssh", "person/.aws", "person/.cursor", "person/.config/git"} {
		if !filepath.IsAbs(d) {
			d = filepath.Join(w.dir, d)
		}
		must(os.MkdirAll(d, 0o755))
	}
	for _, p := range []string{
		"person/notes.txt", "person/.ssh/id_ed25519", "person/.aws/credentials", "person/.cursor/mcp.json", "person/.netrc", "person/.bash_history",
		"private/secret", "vault/secret", "vault/inner/secret",
	} {
		must(os.WriteFile(filepath.Join(w.dir, p), []byte(fileCanary+"\n"), 0o644))
	}
	must(copyFile(filepath.Join(w.bin, "probe"), filepath.Join(f.Shared, "probe")))
	w.git(f.Shared, "init", "-q", "-b", "main")
	must(os.WriteFile(filepath.Join(f.Shared, ".gitignore"), []byte("probe\nfacts.json\nresults.json\n"), 0o644))
	must(os.WriteFile(filepath.Join(f.Shared, "README"), []byte("a project\n"), 0o644))
	w.git(f.Shared, "add", "-A")
	w.git(f.Shared, "commit", "-qm", "begin")
	w.listen()
	f.KeyName = "attack-" + filepath.Base(w.dir)
	_, _ = unix.AddKey("user", f.KeyName, []byte(fileCanary), unix.KEY_SPEC_USER_KEYRING)
	f.ShmKey = 0x5ab00000 | os.Getpid()&0xfffff
	if id, err := unix.SysvShmGet(f.ShmKey, 4096, unix.IPC_CREAT|0o666); err == nil {
		if mem, err := unix.SysvShmAttach(id, 0, 0); err == nil {
			copy(mem, fileCanary)
		}
	}
}

func (w *world) listen() {
	f := &w.facts
	w.hits = &listeners{counts: map[string]int{}}
	var err error
	f.Loopback, err = w.hits.serve("loopback", "tcp4", "127.0.0.1:0")
	must(err)
	f.Loopback6, _ = w.hits.serve("loopback6", "tcp6", "[::1]:0")
	if ip, zone := machineAddress(false); ip != "" {
		f.Machine, _ = w.hits.serve("machine", "tcp4", net.JoinHostPort(ip, "0"))
		_ = zone
	}
	if ip, zone := machineAddress(true); ip != "" {
		f.LinkLocal, _ = w.hits.serve("linklocal", "tcp6", net.JoinHostPort(ip+"%"+zone, "0"))
	}
	f.UDP, _ = w.hits.serveUDP("udp")
	f.Open, err = w.hits.serve("open", "tcp4", "127.0.0.1:0")
	must(err)
	f.HostName, _ = os.Hostname()
	f.Abstract = "@attack-" + filepath.Base(w.dir)
	_, err = w.hits.serve("abstract", "unix", f.Abstract)
	must(err)
	paths := []string{"ssh-agent.sock", "dbus.sock", "docker.sock", "X99"}
	for _, p := range paths {
		p = filepath.Join(w.dir, p)
		if _, err := w.hits.serve(p, "unix", p); err == nil {
			f.Unix = append(f.Unix, p)
		}
	}
	for _, d := range []string{"/run", "/var/run", "/var/tmp", "/tmp"} {
		p := filepath.Join(d, "attack-"+filepath.Base(w.dir)+".sock")
		if _, err := w.hits.serve(p, "unix", p); err == nil {
			f.Unix = append(f.Unix, p)
		}
	}
	_, _ = w.hits.serve("workspace", "unix", filepath.Join(f.Shared, "person.sock"))
	data, _ := os.ReadFile("/etc/resolv.conf")
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "nameserver" {
			f.Resolvers = append(f.Resolvers, words[1])
		}
	}
}

// clean takes back what is outside the world's directory.
func (w *world) clean() {
	for _, p := range w.facts.Unix {
		_ = os.Remove(p)
	}
	if id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", w.facts.KeyName, 0); err == nil {
		_, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	}
	if id, err := unix.SysvShmGet(w.facts.ShmKey, 0, 0); err == nil {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	}
}

func machineAddress(linkLocal bool) (ip, zone string) {
	list, _ := net.Interfaces()
	for _, i := range list {
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if !ok || n.IP.IsLoopback() || n.IP.IsLinkLocalUnicast() != linkLocal || (n.IP.To4() == nil) != linkLocal {
				continue
			}
			return n.IP.String(), i.Name
		}
	}
	return "", ""
}

func (w *world) git(dir string, args ...string) string {
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=p", "-c", "user.email=p@example.com"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.hostHome}
	out, err := cmd.CombinedOutput()
	if err != nil {
		must(fmt.Errorf("git %v: %w: %s", args, err, out))
	}
	return string(out)
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// configure writes the daemon's configuration.
func (w *world) configure() {
	must(os.MkdirAll(w.home, 0o700))
	text := fmt.Sprintf(`[limits]
hops = 8

[network]
allow = [%q, %q, %q]

[resources]
memory = "512MiB"
processes = 300
open_files = 4096
workspace = "256MiB"
home = "256MiB"
tmp = "128MiB"

[profiles.net]
agents = ["lead/door"]
hosts = [%q, %q]
`, allowedName, "*."+allowedName, w.facts.Open, w.facts.HostName, w.facts.HostName+":"+portOf(w.facts.Machine))
	must(os.WriteFile(filepath.Join(w.home, "substrat.toml"), []byte(text), 0o600))
}

// openDoor makes an agent with the network by a door, where there is such a thing.
func (w *world) openDoor() {
	n := map[string]any{"name": "door", "parent": "lead", "dir": w.facts.Shared, "provider": "sim", "network": "door"}
	var a substrat.Agent
	if err := w.do(http.MethodPost, "/v1/agents", n, &a); err == nil && a.Network == "door" {
		w.door = true
	}
}

// soon waits a little for something that happens beside a turn.
func soon(ok func() bool) bool {
	for range 100 {
		if ok() {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}
