package relay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

const (
	// upgradeTime bounds how long the daemon may take to hand a connection over.
	upgradeTime = 10 * time.Second
	// headLines bounds the head of its answer; a line is bounded by the reader.
	headLines = 100
)

// DialUpgrade connects by an HTTP upgrade on the control socket: how a person speaks an agent's tools. An answer of the
// 4xx kind is final and wraps ErrRefused. Dial gives the connection and lines of the request's head, the Host's at least.
func DialUpgrade(dial func(context.Context) (net.Conn, string, error), path string) func(context.Context) (io.ReadWriteCloser, error) {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		conn, head, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, upgradeTime)
		defer cancel()
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		rest, err := upgrade(conn, path, head)
		if !stop() {
			err = context.Cause(ctx)
		}
		if err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("cannot speak as the agent: %w", err)
		}
		return upgraded{conn, rest}, nil
	}
}

// upgrade asks for raw bytes and reads the answer's head.
func upgrade(conn net.Conn, path, head string) (*bufio.Reader, error) {
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\n%sConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n", path, head)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	status := strings.TrimSpace(string(line))
	for n := 0; len(bytes.TrimSpace(line)) > 0; n++ {
		if n > headLines {
			return nil, errors.New("the head of the answer does not end")
		}
		if line, err = in.ReadSlice('\n'); err != nil {
			return nil, err
		}
	}
	_, code, _ := strings.Cut(status, " ")
	if strings.HasPrefix(code, "101") {
		return in, nil
	}
	body := make([]byte, 1<<10)
	n, _ := in.Read(body)
	err = fmt.Errorf("%s %s", code, bytes.TrimSpace(body[:n]))
	if strings.HasPrefix(code, "4") {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil, err
}

// upgraded reads what was buffered behind the answer's head first.
type upgraded struct {
	net.Conn
	in *bufio.Reader
}

// Read implements io.Reader.
func (u upgraded) Read(p []byte) (int, error) { return u.in.Read(p) }
