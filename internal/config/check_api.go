package config

import (
	"net"
	"path/filepath"
	"strings"
)

// api refuses addresses and names that would not do what was meant by them.
func (c *checker) api(a API) {
	if a.Listen != "" {
		host, port, err := net.SplitHostPort(a.Listen)
		if err == nil {
			_, err = net.LookupPort("tcp", port)
		}
		if err != nil || host == "" {
			c.bad("api", 0, "listen", "%q is no address with a port: write 127.0.0.1:7777", a.Listen)
		}
	}
	for _, name := range a.Hosts {
		if name == "" || strings.ContainsAny(name, ":/* \t@") || strings.HasSuffix(name, ".") {
			c.bad("api", 0, "hosts", "%q is no host name: write it without scheme and port; there are no patterns", name)
		}
	}
	if (a.TLSCert == "") != (a.TLSKey == "") {
		c.bad("api", 0, "tls_cert", "tls_cert and tls_key go together")
	}
	for key, path := range map[string]string{"tls_cert": a.TLSCert, "tls_key": a.TLSKey} {
		if path != "" && !filepath.IsAbs(path) {
			c.bad("api", 0, key, "%s must be an absolute path, not %q", key, path)
		}
	}
}
