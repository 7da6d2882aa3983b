package door

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
)

// clientHello is a ClientHello that names a host, in any bytes at all.
func clientHello(t testing.TB, name string) []byte {
	t.Helper()
	raw := helloBytes(name)
	if name != "" && bytes.Count(raw, []byte(name)) != 1 {
		t.Fatal("the ClientHello does not hold its name once")
	}
	return raw
}

func helloBytes(name string) []byte {
	stand := strings.Repeat("s", len(name))
	var out bytes.Buffer
	_ = tls.Client(&writeTo{&tape{r: strings.NewReader("")}, &out}, &tls.Config{ServerName: stand, InsecureSkipVerify: true}).Handshake()
	if name == "" {
		return out.Bytes()
	}
	return bytes.Replace(out.Bytes(), []byte(stand), []byte(name), 1)
}

type writeTo struct {
	net.Conn
	w io.Writer
}

func (w *writeTo) Write(p []byte) (int, error) { return w.w.Write(p) }
