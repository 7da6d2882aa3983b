package turnjson

import (
	"fmt"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/redact"
)

// saidMost bounds what is told of a CLI's own words.
const saidMost = 2000

// causes are why a CLI exits without a word of the contract, by what it said instead.
var causes = []struct {
	sign
	why string
}{
	{sign{substrat.ClassAgent, in(`unknown (option|flag|argument|command)|unrecogni[sz]ed (option|flag|argument|command)|unexpected (argument|option)|(invalid|illegal|no such|bad) option|flag provided but not defined|^usage:|\nusage:`)},
		"it does not know an argument that it was given: its version has no such flag, or another program has its name"},
	{sign{substrat.ClassAgent, in(`not a tty|no tty|isatty|raw mode|inappropriate ioctl|(stdin|stdout|input) is not a (terminal|tty)|requires? (an interactive|a) (terminal|tty)|must be run (in|from) a terminal|waiting for input|press (any key|enter)|/dev/tty`)},
		"it works on a terminal only: it needs a mode for pipes (headless), which usually is an option such as -p or --print"},
	{sign{substrat.ClassAuth, in(`not logged in|log ?in\b|sign in|api[_ ]key|credential|_token\b|unauthori[sz]ed|authenticat`)},
		"it has no login: log in as the user that runs it, or give it the variable that holds its key"},
	{sign{substrat.ClassAgent, in(`environment variable|env(ironment)? var|is not set|must be set|missing (config|setting|variable)|config(uration)? (file )?(not found|missing)|no such file or directory|enoent`)},
		"something of its configuration or environment is missing: it gets the variables of its profile and few others"},
	{sign{substrat.ClassAgent, in(`unexpected end of (json|input)|empty (input|stdin)|no (input|prompt|turn)|stdin (is )?(empty|closed)|broken pipe|epipe|invalid json|(parse|decode|parsing|decoding).{0,40}(json|stdin|turn)|unexpected eof`)},
		"the process that reads stdin did not get the turn: what is started may be a wrapper that does not pass its stdin on"},
}

// Diagnose implements agentcli.Provider. A CLI of the contract may end its turn by exiting with 0 once it has said something.
func (p *Provider) Diagnose(req agentcli.Request, partial agentcli.Result, exit agentcli.Exit) (substrat.FailureClass, string) {
	said := strings.TrimSpace(redact.String(strings.ToValidUTF8(string(exit.Stderr)+"\n"+string(exit.Stdout), "\uFFFD")))
	forwarded := partial.Text != "" || partial.ToolCalls > 0 || partial.Usage != nil
	how := fmt.Sprintf("the agent exited with code %d before it was done", exit.Code)
	switch {
	case exit.Signal != "":
		return substrat.ClassCrashed, join("the agent was ended by "+exit.Signal+" before it was done", tailOf(said))
	case exit.Code == 0 && forwarded:
		return "", ""
	case exit.Code == 127 || exit.Code == 126:
		return substrat.ClassNotInstalled, join(fmt.Sprintf("the agent could not be run (code %d)", exit.Code), tailOf(said))
	case exit.Code == 0:
		how = "the agent exited with code 0 and printed no event of the contract"
	}
	if forwarded {
		return classify("", said, substrat.ClassAgent), join(how, orNoStderr(said))
	}
	class := classify("", said, "")
	if of, why := causeOf(said); why != "" {
		if class == "" {
			class = of
		}
		return class, how + ": " + tailOf(said) + "; " + why + ". " + p.byHand(req)
	}
	if class != "" {
		return class, how + ": " + tailOf(said) + ". " + p.byHand(req)
	}
	class = substrat.ClassAgent
	if exit.Code == 0 {
		class = substrat.ClassProtocol
	}
	if said != "" {
		return class, how + ": " + tailOf(said) + ". " + p.byHand(req)
	}
	return class, how + " (no stderr, no output): " + p.silent(exit.Code) + ". " + p.byHand(req)
}

// causeOf finds the cause by what the CLI said.
func causeOf(said string) (class substrat.FailureClass, why string) {
	for _, c := range causes {
		if said != "" && c.fits().MatchString(said) {
			return c.class, c.why
		}
	}
	return "", ""
}

// silent tells what is known to make a CLI exit without a word. Nothing it said tells them apart; the check by hand does.
func (p *Provider) silent(code int) string {
	if code == 0 {
		if p.o.PromptAsArg {
			return "it may print its events only with an option such as --output-format stream-json, or read its prompt from somewhere else"
		}
		return "it may print its events only with an option such as --stream-json, or not read the turn from stdin"
	}
	list := "one of: (1) it works on a terminal only and has no headless mode; (2) its configuration, a variable or its login is missing; "
	if !p.o.PromptAsArg {
		list += "(3) the process that reads stdin is not the one that was started; (4) it does not know one of its arguments"
	} else {
		list += "(3) it does not know one of its arguments: --approve-mcps and --force can be left out"
	}
	return list + ". If the line below prints events on a terminal, it is (1)"
}

// byHand is the line that repeats what was done, for a terminal.
func (p *Provider) byHand(req agentcli.Request) string {
	small := agentcli.Request{Prompt: "hello", Mode: req.Mode, Model: req.Model, Profile: req.Profile, Program: req.Program, Args: req.Args}
	cmd, err := p.Command(small)
	if err != nil {
		return "Try it by hand"
	}
	words := make([]string, len(cmd.Argv))
	for i, w := range cmd.Argv {
		words[i] = shellQuote(w)
	}
	line := redact.String(strings.Join(words, " "))
	if req.Profile != "" {
		line = profileVar + "=" + shellQuote(req.Profile) + " " + line
	}
	if !p.o.PromptAsArg {
		line = "echo '" + minimalTurn + "' | " + line
	}
	return "Try by hand: " + line + `; echo "exit code $?"`
}

// minimalTurn is the smallest turn there is.
const minimalTurn = `{"type":"turn","turnId":"t1","messages":[{"role":"user","content":"hi"}],"tools":[]}`

func shellQuote(s string) string {
	if s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:,@%+") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func tailOf(s string) string {
	if len(s) > saidMost {
		return "…" + strings.ToValidUTF8(s[len(s)-saidMost:], "")
	}
	return s
}

func orNoStderr(said string) string {
	if said == "" {
		return "(no stderr)"
	}
	return tailOf(said)
}

func join(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}
