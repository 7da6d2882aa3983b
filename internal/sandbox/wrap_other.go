//go:build !linux

package sandbox

import (
	"context"
	"runtime"

	"substrat.dev/substrat"
)

// Wrap gives an error of code unsupported: sandboxes need Linux namespaces.
func Wrap(Profile, []string) ([]string, error) {
	return nil, substrat.Errorf(substrat.CodeUnsupported, "cannot make a sandbox: bubblewrap needs Linux, this is %s", runtime.GOOS).
		WithHint("choose sandbox none for this agent")
}

// Options refuses on this platform.
func Options(Profile) ([]string, error) {
	return nil, substrat.Errorf(substrat.CodeUnsupported, "cannot sandbox on this platform")
}

// Probe says that turns cannot be sandboxed here.
func Probe(context.Context) Report {
	return Report{Findings: []Finding{{
		Name: "platform", Required: true, Detail: "bubblewrap needs Linux, this is " + runtime.GOOS,
		Remedy: "run the daemon on Linux, or choose sandbox none for agents you trust",
	}}}
}

// PrepareEtc has nothing to prepare here.
func PrepareEtc(string) error {
	return substrat.Errorf(substrat.CodeUnsupported, "cannot sandbox on this platform")
}

// Alone refuses on this platform.
func Alone(Profile, ...string) (Places, error) {
	return Places{}, substrat.Errorf(substrat.CodeUnsupported, "cannot sandbox on this platform")
}

// CanPin says no: there is no bubblewrap here.
func CanPin(context.Context) bool { return false }
