//go:build !linux

package shell

import (
	"context"
	"fmt"
	"os"

	"substrat.dev/substrat"
)

// Run refuses on this platform.
func Run(context.Context, Plan, func(Note)) (int, error) {
	return 0, substrat.Errorf(substrat.CodeUnsupported, "cannot sandbox on this platform")
}

// Foreground refuses on this platform.
func Foreground([]string) int {
	fmt.Fprintln(os.Stderr, "substrat foreground: sandboxes need Linux")
	return 125
}

// Terminal is never true here.
func Terminal() bool { return false }
