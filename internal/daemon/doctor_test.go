package daemon

import (
	"strings"
	"testing"

	"substrat.dev/substrat/internal/confine"
)

// What sandbox landlock leaves open is said for the kernel that is there.
func TestDoctorTellsOfLandlockAlone(t *testing.T) {
	for abi, want := range map[int]struct {
		ok      bool
		sockets bool
	}{0: {}, confine.MustABI - 1: {}, confine.MustABI: {true, true}, confine.UnixABI - 1: {true, true}, confine.UnixABI: {true, false}} {
		f := alone(abi)
		if f.OK != want.ok || f.Required || strings.Contains(f.Detail, "every unix socket") != want.sockets || f.OK == (f.Remedy != "") {
			t.Errorf("version %d: %+v", abi, f)
		}
	}
}
