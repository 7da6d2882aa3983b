package relay

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// upgradeTo dials a server that reads one request and answers with what is given.
func upgradeTo(ctx context.Context, answer string) (conn io.ReadWriteCloser, request string, err error) {
	ours, theirs := net.Pipe()
	heard := make(chan string, 1)
	go func() {
		in := bufio.NewReader(theirs)
		var text string
		for !strings.HasSuffix(text, "\r\n\r\n") {
			line, err := in.ReadString('\n')
			if text += line; err != nil {
				break
			}
		}
		heard <- text
		_, _ = io.WriteString(theirs, answer)
		if !strings.HasPrefix(answer, "HTTP/1.1 101 ") && answer != "" {
			_ = theirs.Close()
		}
	}()
	conn, err = DialUpgrade(func(context.Context) (net.Conn, string, error) { return ours, "Host: substrat\r\n", nil }, "/v1/agents/a/mcp")(ctx)
	request = <-heard
	_ = theirs.SetDeadline(time.Now())
	return conn, request, err
}

func TestUpgrade(t *testing.T) {
	conn, request, err := upgradeTo(t.Context(), "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\nfirst\n")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || line != "first\n" {
		t.Errorf("what stood behind the head: %q, %v", line, err)
	}
	for _, want := range []string{"GET /v1/agents/a/mcp HTTP/1.1\r\n", "\r\nConnection: Upgrade\r\n", "\r\nUpgrade: mcp\r\n"} {
		if !strings.Contains(request, want) {
			t.Errorf("no %q in %q", want, request)
		}
	}
}

func TestUpgradeFails(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		final  bool
		want   string
	}{
		"no such agent":    {"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nno agent\n", true, "404 Not Found no agent"},
		"starting":         {"HTTP/1.1 503 Service Unavailable\r\n\r\n", false, "503"},
		"gone":             {"HTTP/1.1 10", false, "EOF"},
		"endless head":     {"HTTP/1.1 101 Switching\r\n" + strings.Repeat("A: b\r\n", headLines+1), false, "does not end"},
		"endless line":     {"HTTP/1.1 101 Switching\r\n" + strings.Repeat("A", 5000), false, "buffer full"},
		"no HTTP":          {"hello\r\n\r\n", false, "cannot speak"},
		"status elsewhere": {"HTTP/1.1 500 not 101 \r\n\r\n", false, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := upgradeTo(t.Context(), c.answer)
			if err == nil || errors.Is(err, ErrRefused) != c.final || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q, final %v", err, c.want, c.final)
			}
		})
	}
}

// TestUpgradeHangs: a daemon that says nothing is given up.
func TestUpgradeHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, _, err := upgradeTo(t.Context(), "")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != upgradeTime {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
