package workspace

import (
	"context"
	"sync"
)

// repositories lets one call at a time change a repository. Git's own locks keep its files whole, but a merge is several
// calls that belong together. A lock of this process is enough, for there is one daemon; a lock on a file could be held
// by any agent that may read it.
var repositories = keyed{held: map[string]chan struct{}{}}

// keyed is a lock for each key, held by nobody while it is not in the map.
type keyed struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lock waits for key and gives what unlocks it.
func (k *keyed) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		k.mu.Lock()
		free, taken := k.held[key]
		if !taken {
			mine := make(chan struct{})
			k.held[key] = mine
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.held, key)
				k.mu.Unlock()
				close(mine)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
