package remote

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// lookAgain is how often the file is looked at for the sake of answers that take long: a token that was replaced ends
// them. New requests are compared with the file as it is.
const lookAgain = time.Second

// watched is the token in a file, which may be replaced, and the answers that were begun with it.
type watched struct {
	path  string
	mu    sync.Mutex
	token string
	begun map[*context.CancelFunc]struct{}
}

func newWatched(path string) *watched {
	return &watched{path: path, begun: map[*context.CancelFunc]struct{}{}}
}

// read gives the token of now, and ends what was begun with another.
func (w *watched) read() (string, error) {
	token, err := readToken(w.path)
	if err != nil {
		token = ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if token != w.token {
		for end := range w.begun {
			(*end)()
		}
		w.token = token
	}
	return token, err
}

// watch looks at the file until ctx ends.
func (w *watched) watch(ctx context.Context) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = w.read()
		case <-ctx.Done():
			return
		}
	}
}

// endWith lets requests end when the token they came in with does.
func (w *watched) endWith(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		given, _ := bearer(r)
		w.mu.Lock()
		w.begun[&cancel] = struct{}{}
		if !same(given, w.token) { // replaced since it was looked at
			cancel()
		}
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.begun, &cancel)
		}()
		next.ServeHTTP(rw, r.WithContext(ctx))
	})
}
