// Command agent is the coding agent that the bench runs: it answers with the moments at which it began and ended, on the
// clock that all processes of the machine share. A prompt that holds "sleep=MS" makes it wait.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mono reads the clock that all processes of the machine share, in nanoseconds.
func mono() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}

func main() {
	began := mono()
	if slices.Contains(os.Args, "create-chat") {
		fmt.Println("11111111-2222-4333-8444-555555555555")
		return
	}
	session := ""
	if i := slices.Index(os.Args, "--resume"); i > 0 && i+1 < len(os.Args) {
		session = os.Args[i+1]
	}
	fmt.Printf(`{"type":"system","subtype":"init","session_id":%q,"model":"bench"}`+"\n", session)
	prompt, _ := io.ReadAll(os.Stdin)
	if _, rest, ok := strings.Cut(string(prompt), "sleep="); ok {
		n, _ := strconv.Atoi(strings.TrimSpace(rest))
		time.Sleep(time.Duration(n) * time.Millisecond)
	}
	text := fmt.Sprintf("T0=%d T1=%d", began, mono())
	fmt.Printf(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":%q}]},"session_id":%q}`+"\n", text, session)
	fmt.Printf(`{"type":"result","subtype":"success","is_error":false,"result":%q,"session_id":%q}`+"\n", text, session)
}
