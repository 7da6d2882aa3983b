package turn

import (
	"fmt"
	"os"

	"substrat.dev/substrat/internal/netns"
)

// dnsPort is where names are asked for.
const dnsPort = 53

// exec starts the process, in a network of its own where it is to have one. The step that makes it becomes argv.
func (s *shim) exec(argv []string, p *pipes) (int, error) {
	attributes := processAttributes()
	if s.net == nil {
		return s.execProcess(argv, p.theirs, attributes)
	}
	step, err := netns.New(s.spec.Net.Listen(), []int{dnsPort}, len(p.theirs))
	if err != nil {
		return 0, err
	}
	defer step.Close()
	if argv, err = step.Argv(argv); err != nil {
		return 0, err
	}
	step.Attributes(attributes)
	pid, err := s.fork(netns.Exe, argv, workDir(s.spec), append(p.theirs[:len(p.theirs):len(p.theirs)], step.Theirs()), attributes)
	if err != nil {
		return 0, fmt.Errorf("cannot give it a network of its own: %w", err)
	}
	sockets, err := step.Receive()
	if err != nil {
		// The step says why on its standard error, and its end is followed like any other.
		fmt.Fprintln(os.Stderr, "substrat shim: no network of its own:", err)
		return pid, nil
	}
	s.net.serve(listenersOf(sockets.TCP, sockets.UDP))
	return pid, nil
}
