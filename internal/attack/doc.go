// Package attack holds the attempts to get out of a sandbox: the build tag attack and `make attack` run them. A program runs
// inside a real sandbox, as an agent's shell command of a real daemon, and tries one thing after the other; what came of each
// is judged from outside too. It owns no code but theirs. It never touches what is not its own: every victim file, listener
// and key is made for the run, what would harm a machine if it worked is asked for in its harmless form, and every bomb has
// a bound of its own.
package attack
