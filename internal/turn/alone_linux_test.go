package turn

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAlone: a process that no daemon comes back for is ended, and not while one is there.
func TestAlone(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("hang")
		spec.Limits.Alone = 300 * time.Millisecond
		turn := r.start(spec)
		r.expect(turn, initLine)
		ctx, cancel := context.WithTimeout(r.context(), 3*spec.Limits.Alone)
		defer cancel()
		if exit, err := turn.Wait(ctx); err == nil {
			t.Fatalf("it ended beside its daemon: %+v", exit)
		}
		if err := turn.Close(); err != nil {
			t.Fatal(err)
		}
		// Looking at it with Attach would keep it company.
		for {
			if _, err := os.Stat(filepath.Join(r.dir, exitName)); err == nil {
				break
			}
			if err := pause(r.context(), 5*time.Millisecond); err != nil {
				t.Fatal("it lives on alone")
			}
		}
		again, err := Attach(r.context(), r.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if exit := r.wait(again); exit.Reason != Cancelled || exit.Err != "stopped: no daemon came back for it" {
			t.Errorf("exit is %+v", exit)
		}
	})
}
