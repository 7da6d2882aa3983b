package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// fetchCommand makes this program the client: `bench fetch ORDER`.
const fetchCommand = "fetch"

// host is the name in the certificate of package httptest.
const host = "example.com"

// fetch is what the client is to do: move bytes, or connect some times.
type fetch struct {
	Scheme   string
	At       string // the server's address; without it the name is asked for and followed, as inside a sandbox
	CA       string
	Up       bool
	Bytes    int64
	Connects int
}

// fetched is what it took, in milliseconds each.
type fetched struct{ Took []float64 }

// rate gives MB a second.
func (f fetched) rate(of fetch) float64 { return float64(of.Bytes) / 1e6 / (f.Took[0] / 1000) }

func fetchMain(text string) int {
	var f fetch
	err := json.Unmarshal([]byte(text), &f)
	var out fetched
	if err == nil {
		out, err = f.run(context.Background())
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		return 1
	}
	return 0
}

func (f fetch) run(ctx context.Context) (out fetched, err error) {
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		return out, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: roots, ServerName: host}
	for range f.Connects {
		began := time.Now()
		c, err := f.dial(ctx, "tcp", host+":443")
		if err != nil {
			return out, err
		}
		if err := tls.Client(c, config).HandshakeContext(ctx); err != nil {
			return out, err
		}
		out.Took = append(out.Took, float64(time.Since(began).Nanoseconds())/1e6)
		c.Close()
	}
	if f.Bytes == 0 {
		return out, nil
	}
	took, err := f.move(ctx, &http.Transport{DialContext: f.dial, TLSClientConfig: config, ForceAttemptHTTP2: true})
	out.Took = append(out.Took, took)
	return out, err
}

// move fetches or sends the bytes, on a connection that is there already.
func (f fetch) move(ctx context.Context, t *http.Transport) (float64, error) {
	client, url := &http.Client{Transport: t}, f.Scheme+"://"+host+"/"
	do := func(method, url string, body io.Reader, length, want int64) error {
		req, err := http.NewRequestWithContext(ctx, method, url, body)
		if err != nil {
			return err
		}
		req.ContentLength = length
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, make([]byte, 256<<10))
		if err == nil && (res.StatusCode != http.StatusOK || n != want) {
			err = errors.New(res.Status)
		}
		return err
	}
	if err := do(http.MethodGet, url, nil, 0, 0); err != nil {
		return 0, err
	}
	began := time.Now()
	var err error
	if f.Up {
		err = do(http.MethodPost, url, io.LimitReader(zeros{}, f.Bytes), f.Bytes, 0)
	} else {
		err = do(http.MethodGet, fmt.Sprintf("%s?n=%d", url, f.Bytes), nil, 0, f.Bytes)
	}
	return float64(time.Since(began).Nanoseconds()) / 1e6, err
}

func (f fetch) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if f.At != "" {
		return new(net.Dialer).DialContext(ctx, network, f.At)
	}
	asks := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", "127.0.0.1:53")
	}}
	// As glibc asks, for IPv4 alone where that is all there is.
	return (&net.Dialer{Resolver: asks}).DialContext(ctx, "tcp4", address)
}

// zeros is an endless stream.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) { return len(p), nil }
