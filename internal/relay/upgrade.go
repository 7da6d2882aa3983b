package relay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// DialUpgrade connects by an HTTP upgrade on the control socket: how a person speaks an agent's tools.
func DialUpgrade(dial func(context.Context) (net.Conn, error), path string) func(context.Context) (io.ReadWriteCloser, error) {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		rest, err := upgrade(conn, path)
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return upgraded{conn, rest}, nil
	}
}

// upgrade asks for raw bytes and reads the answer's head.
func upgrade(conn net.Conn, path string) (*bufio.Reader, error) {
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: substrat\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n", path)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	status, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if !strings.Contains(status, " 101 ") {
		body, _ := io.ReadAll(io.LimitReader(in, 4<<10))
		return nil, fmt.Errorf("cannot speak as the agent: %s %s", strings.TrimSpace(status), body)
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(line) == "" {
			return in, nil
		}
	}
}

// upgraded reads what was buffered behind the answer's head first.
type upgraded struct {
	net.Conn
	in *bufio.Reader
}

// Read implements io.Reader.
func (u upgraded) Read(p []byte) (int, error) { return u.in.Read(p) }
