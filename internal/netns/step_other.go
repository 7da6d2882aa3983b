//go:build !linux

package netns

import (
	"fmt"
	"os"
	"runtime"
)

// Main says that there are no network namespaces here.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "substrat netns: network namespaces need Linux, this is", runtime.GOOS)
	return 125
}
