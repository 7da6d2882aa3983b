package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// reviewTask is a task that the simulators play through two rounds: what one writes is the script of the next.
func reviewTask(n int) string {
	approve := script(step{"text": "APPROVE well done"})
	final := script(step{"text": fmt.Sprintf("final %d %s", n, approve)})
	change := script(step{"text": "add tests " + final})
	return fmt.Sprintf("Mend it, %d. %s", n, script(step{"text": fmt.Sprintf("draft %d %s", n, change)}))
}

// pipeline makes the agent of the review example, from its own directory.
func (w *world) pipeline() substrat.Agent {
	w.t.Helper()
	program, err := filepath.Abs("../../examples/review/pipeline.py")
	if err != nil {
		w.t.Fatal(err)
	}
	return w.create(substrat.NewAgent{Name: "pipe", Provider: "scripted", Command: []string{program}})
}

// checkReview: each task was reported once, after two rounds, and nobody was asked anything twice.
func (w *world) checkReview(tasks int) {
	w.t.Helper()
	reports := w.told("pipe")
	for n := range tasks {
		found := 0
		for text, times := range reports {
			if strings.HasPrefix(text, "approved by all critics after 2 rounds:\nfinal "+fmt.Sprint(n)+" ") {
				found += times
			}
		}
		if found != 1 {
			w.t.Errorf("task %d was reported %d times", n, found)
		}
	}
	if len(reports) != tasks {
		w.t.Errorf("%d reports: %v", len(reports), reports)
	}
	asked := map[string]int{}
	for _, m := range w.messages() {
		if m.Kind == substrat.KindRequest {
			asked[m.To]++
		}
	}
	for _, name := range []string{"worker", "correctness", "clarity"} {
		if asked["pipe/"+name] != 2*tasks {
			w.t.Errorf("%s was asked %d times for %d tasks", name, asked["pipe/"+name], tasks)
		}
	}
}

func TestReviewPipeline(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t, "--slots", "3")
	w.start()
	w.pipeline()
	w.send("pipe", reviewTask(0))
	w.send("pipe", reviewTask(1))
	w.until("both reports", func() bool { return len(w.told("pipe")) == 2 })
	w.settle()
	w.checkReview(2)
	if a := w.agent("pipe/worker"); !a.Gated || a.Turns != 4 {
		t.Errorf("the worker: gated %v, %d turns", a.Gated, a.Turns)
	}
	w.checkRecord()
}

// TestReviewPipelineCrashes: the same while daemon, program and shim are killed again and again.
func TestReviewPipelineCrashes(t *testing.T) {
	needSandbox(t)
	w := newWorld(t, "--slots", "3")
	w.start()
	a, r := w.pipeline(), seed(t)
	tasks, kills := 0, 0
	for until := time.Now().Add(soak(t)); kills < 30 || time.Now().Before(until); kills++ {
		if len(w.told("pipe")) == tasks {
			w.send("pipe", reviewTask(tasks))
			tasks++
		}
		time.Sleep(time.Duration(20+r.IntN(250)) * time.Millisecond)
		switch r.IntN(3) {
		case 0:
			w.kill()
			w.start()
		case 1:
			if pid := w.programOf(a.ID); pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		default:
			if _, pid := w.liveStatus(a.ID); pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	w.until("the last report", func() bool { return len(w.told("pipe")) == tasks })
	w.settle()
	t.Logf("%d tasks, %d kills", tasks, kills)
	w.checkReview(tasks)
	w.checkRecord()
}
