//go:build !linux

package turn

// exec starts the process. Only sandboxed ones have a network of their own, and there are none here.
func (s *shim) exec(argv []string, p *pipes) (int, error) {
	return s.execProcess(argv, p.theirs, processAttributes())
}
