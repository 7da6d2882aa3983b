package turn

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkOverhead measures a whole turn of /bin/true (Start, its record, Close) beside the same process without a
// turn, in the same minute, and reports the ratio of the medians. Absolute figures say more about the machine.
func BenchmarkOverhead(b *testing.B) {
	for _, way := range []struct {
		name      string
		sandboxed bool
	}{{"bare", false}, {"sandboxed", true}} {
		exe := self(b)
		if other := os.Getenv("SUBSTRAT_SHIM_EXE"); other != "" {
			exe = other // the real program, whose packages take their time to initialise
		}
		b.Run(way.name, func(b *testing.B) {
			r := rig{sandboxed: way.sandboxed}
			if _, err := exec.LookPath("bwrap"); way.sandboxed && err != nil {
				b.Skip("bwrap is not installed")
			}
			argv := r.argv("/bin/true")
			var plain, start, whole []time.Duration
			root := b.TempDir()
			launcher := NewLauncher(exe, 1)
			defer launcher.Close()
			for i := 0; b.Loop(); i++ {
				plain = append(plain, timed(b, func() error { return plainly(argv) }))
				dir := filepath.Join(root, strconv.Itoa(i))
				began := time.Now()
				turn, err := launcher.Start(context.Background(), dir, Spec{ID: "bench", Argv: argv, Sandboxed: way.sandboxed})
				if err != nil {
					b.Fatal(err)
				}
				start = append(start, time.Since(began))
				if exit, err := turn.Wait(context.Background()); err != nil || exit.Code != 0 || exit.Reason != Exited {
					b.Fatal(exit, err)
				}
				whole = append(whole, time.Since(began))
				if err := turn.Close(); err != nil {
					b.Fatal(err)
				}
				if err := os.RemoveAll(dir); err != nil {
					b.Fatal(err)
				}
				time.Sleep(2 * refillDelay) // the next spare is there and has initialised
			}
			b.ReportMetric(ms(median(plain)), "plain-ms")
			b.ReportMetric(ms(median(start)), "start-ms")
			b.ReportMetric(ms(median(whole)), "turn-ms")
			b.ReportMetric(float64(median(whole))/float64(median(plain)), "ratio")
			b.ReportMetric(float64(percentile(whole, 99))/float64(percentile(plain, 99)), "p99-ratio")
		})
	}
}

// plainly runs a process as Go does it, on a locked thread for bwrap's --die-with-parent.
func plainly(argv []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return exec.Command(argv[0], argv[1:]...).Run()
}

func timed(b *testing.B, do func() error) time.Duration {
	began := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

func median(d []time.Duration) time.Duration { return percentile(d, 50) }

func percentile(d []time.Duration, p int) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[min(len(d)-1, len(d)*p/100)]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
