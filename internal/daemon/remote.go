package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"substrat.dev/substrat/internal/config"
	"substrat.dev/substrat/internal/remote"
)

// TokenPath is where the token of a home's daemon is, for whoever comes over TCP.
func TokenPath(home string) string { return filepath.Join(home, "token") }

// overTCP is the API over TCP, which is there only where it was asked for.
type overTCP struct{ s *remote.Server }

// listenRemote opens the address that the command line or the configuration names. It is opened early: one that is taken
// should be known before anything is started.
func listenRemote(ctx context.Context, cfg *Config, configured config.API) (overTCP, error) {
	o := cfg.API
	o.Listen = cmp.Or(o.Listen, configured.Listen)
	if o.TLSCert == "" && o.TLSKey == "" {
		o.TLSCert, o.TLSKey = configured.TLSCert, configured.TLSKey
	}
	if o.Listen == "" {
		return overTCP{}, nil
	}
	s, err := remote.Listen(ctx, remote.Options{
		Listen: o.Listen, Hosts: configured.Hosts, TLSCert: o.TLSCert, TLSKey: o.TLSKey, TokenFile: TokenPath(cfg.Home), Log: cfg.Log,
	})
	if err != nil {
		return overTCP{}, err
	}
	cfg.Log.Info("the API listens", "url", s.URL())
	return overTCP{s}, nil
}

func (o overTCP) url() string {
	if o.s == nil {
		return ""
	}
	return o.s.URL()
}

// serve answers until shutdown; what it gives is closed when that is done. That it stops early is no reason to stop the
// daemon: its socket is still there.
func (o overTCP) serve(ctx context.Context, h http.Handler, log *slog.Logger) <-chan struct{} {
	done := make(chan struct{})
	if o.s == nil {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		if err := o.s.Serve(ctx, h); err != nil {
			log.Error("the API over TCP has ended", "error", err)
		}
	}()
	return done
}

func (o overTCP) shutdown(ctx context.Context) {
	if o.s != nil {
		o.s.Shutdown(ctx)
	}
}

// close lets go of the address where nothing was ever served.
func (o overTCP) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	o.shutdown(ctx)
}
