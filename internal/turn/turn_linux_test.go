package turn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlainTurn(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		exit, out := r.run(r.spec("text"))
		if want := initLine + resultLine; out != want {
			t.Errorf("stdout is %q, want %q", out, want)
		}
		if exit.StartedAt.IsZero() || exit.EndedAt.Before(exit.StartedAt) {
			t.Errorf("times: %v to %v", exit.StartedAt, exit.EndedAt)
		}
		want := Exit{Reason: Exited, StdoutBytes: int64(len(out)), StartedAt: exit.StartedAt, EndedAt: exit.EndedAt}
		if diff := cmp.Diff(want, exit); diff != "" {
			t.Errorf("exit (-want +got):\n%s", diff)
		}
	})
}

func TestExitCodeAndHalfLine(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		exit, _ := r.run(r.spec("exit:7"))
		if exit.Reason != Exited || exit.Code != 7 || exit.Signal != "" {
			t.Errorf("exit is %+v, want code 7", exit)
		}
	})
	// F15: what is not a whole record is kept as it is; whether it means success is not decided here.
	eachWay(t, func(t *testing.T, r rig) {
		exit, out := r.run(r.spec("partial"))
		if exit.Reason != Exited || exit.Code != 0 || !strings.HasSuffix(out, "\n{\"type\":\"assis") {
			t.Errorf("exit is %+v, stdout %q", exit, out)
		}
	})
}
