package sandbox

import (
	"os"
	"strconv"
)

// etcFiles is what programs need of /etc to resolve names, users, libraries and certificates. Nothing that could hold
// a secret is in it.
var etcFiles = []string{
	"alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "fedora-release",
	"fonts", "group", "host.conf", "hosts", "inputrc", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias",
	"localtime", "mime.types", "networks", "nsswitch.conf", "os-release", "passwd", "pki/ca-trust", "pki/tls/certs",
	"pki/tls/cert.pem", "pki/tls/openssl.cnf", "profile", "protocols", "services", "shells", "ssl/certs",
	"ssl/cert.pem", "ssl/openssl.cnf", "timezone",
}

// etcNetworkFiles come with the host's network only.
var etcNetworkFiles = []string{"gai.conf", "resolv.conf"}

// tmpDirs are the places that are private, writable and gone with the sandbox.
var tmpDirs = []string{"/dev/shm", "/tmp", "/var/tmp"}

// rootOwned are the parts of /proc that change the machine and not a process.
var rootOwned = []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"}

// systemMounts is the minimal read-only system. Later mounts lie over earlier ones, so the tmpfs come before what the
// profile adds and a workspace below /tmp is seen.
func systemMounts(etc string, hostNetwork bool, tmpBytes int64) []string {
	out := []string{"--ro-bind", "/usr", "/usr"}
	for _, dir := range []string{"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"} {
		out = append(out, systemDir(dir)...)
	}
	out = append(out, etcMounts(etc, hostNetwork)...)
	out = append(out, "--ro-bind-try", "/opt", "/opt", "--proc", "/proc", "--dev", "/dev")
	if os.Getuid() == 0 {
		// Root inside is root to these files, whatever rights it has lost; for anybody else their modes are wall enough.
		for _, name := range rootOwned {
			out = append(out, "--ro-bind-try", "/proc/"+name, "/proc/"+name)
		}
	}
	for _, dir := range append([]string{"/run"}, tmpDirs...) {
		if tmpBytes > 0 {
			out = append(out, "--size", strconv.FormatInt(tmpBytes, 10))
		}
		out = append(out, "--tmpfs", dir)
	}
	return append(out, "--remount-ro", "/dev")
}

// systemDir shows a top-level directory as the host has it: as a link into /usr, or bound, or not at all.
func systemDir(dir string) []string {
	if target, err := os.Readlink(dir); err == nil {
		return []string{"--symlink", target, dir}
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return []string{"--ro-bind", dir, dir}
	}
	return nil
}
