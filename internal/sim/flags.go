package sim

import "strings"

// options is a parsed command line.
type options struct {
	version, help, listModels bool
	print, partial            bool
	force, trust, approveMCPs bool
	format                    string // "" counts as text
	reportFormat              string // --format, of status and about only
	model                     string
	workspace                 string
	dataDir                   string
	resume                    string
	resuming                  bool // --resume was given, with an id or without
	continuing                bool
	newSession                string
	mode                      string
	apiKey                    string
	endpoint                  string
	operands                  []string
	// literal counts the operands that stood after "--": they are prompt, never a command.
	literal int
}

// arity says whether an option takes a value.
type arity int

const (
	noValue arity = iota
	oneValue
	maybeValue // the next argument, unless it looks like an option
)

// option is one option of the command line; set is nil for those that are accepted and change nothing here.
type option struct {
	arity arity
	set   func(*options, string)
}

func setString(field func(*options) *string) option {
	return option{oneValue, func(o *options, v string) { *field(o) = v }}
}

func setBool(field func(*options) *bool) option {
	return option{noValue, func(o *options, _ string) { *field(o) = true }}
}

// lookupOption knows every option of 2026.10 (documented and hidden). A function and not a table, to cost nothing at
// process start.
func lookupOption(name string) (option, bool) {
	switch name {
	case "--version", "-v":
		return setBool(func(o *options) *bool { return &o.version }), true
	case "--help", "-h":
		return setBool(func(o *options) *bool { return &o.help }), true
	case "--list-models":
		return setBool(func(o *options) *bool { return &o.listModels }), true
	case "--print", "-p":
		return setBool(func(o *options) *bool { return &o.print }), true
	case "--stream-partial-output":
		return setBool(func(o *options) *bool { return &o.partial }), true
	case "--force", "-f", "--yolo":
		return setBool(func(o *options) *bool { return &o.force }), true
	case "--trust":
		return setBool(func(o *options) *bool { return &o.trust }), true
	case "--approve-mcps":
		return setBool(func(o *options) *bool { return &o.approveMCPs }), true
	case "--plan":
		return option{noValue, func(o *options, _ string) { o.mode = "plan" }}, true
	case "--continue":
		return setBool(func(o *options) *bool { return &o.continuing }), true
	case "--resume":
		return option{maybeValue, func(o *options, v string) { o.resume, o.resuming = v, true }}, true
	}
	return lookupValueOption(name)
}

func lookupValueOption(name string) (option, bool) {
	switch name {
	case "--output-format":
		return setString(func(o *options) *string { return &o.format }), true
	case "--format":
		return setString(func(o *options) *string { return &o.reportFormat }), true
	case "--model":
		return setString(func(o *options) *string { return &o.model }), true
	case "--workspace":
		return setString(func(o *options) *string { return &o.workspace }), true
	case "--new-session-id":
		return setString(func(o *options) *string { return &o.newSession }), true
	case "--mode":
		return setString(func(o *options) *string { return &o.mode }), true
	case "--api-key":
		return setString(func(o *options) *string { return &o.apiKey }), true
	case "--endpoint", "-e":
		return setString(func(o *options) *string { return &o.endpoint }), true
	case "--data-dir":
		return setString(func(o *options) *string { return &o.dataDir }), true
	case "--header", "-H", "--sandbox", "--add-dir", "--plugin-dir", "--worktree-base", "--exclude-tools",
		"--allowed-tools", "--background-shell-timeout", "--system-prompt", "--auth-token", "--name", "-n":
		return option{arity: oneValue}, true
	case "--worktree", "-w":
		return option{arity: maybeValue}, true
	case "--auto-review", "--skip-worktree-setup", "--single-turn", "--show-thinking", "--insecure", "-k",
		"--cloud", "-c", "--background", "-b":
		return option{arity: noValue}, true
	}
	return option{}, false
}

// parseFlags reads a command line the way commander does: options anywhere, `--opt value` and `--opt=value`, short
// booleans in one word, everything else an operand.
func parseFlags(args []string) (options, error) {
	var o options
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			o.literal = len(args) - i - 1
			o.operands = append(o.operands, args[i+1:]...)
			return o, nil
		}
		if len(arg) < 2 || arg[0] != '-' {
			o.operands = append(o.operands, arg)
			continue
		}
		used, err := o.take(arg, args[i+1:])
		if err != nil {
			return o, err
		}
		i += used
	}
	return o, nil
}

// take applies one option and says how many of the following arguments it used.
func (o *options) take(arg string, rest []string) (int, error) {
	if !strings.HasPrefix(arg, "--") && len(arg) > 2 {
		return 0, o.takeShorts(arg)
	}
	name, value, inline := strings.Cut(arg, "=")
	opt, ok := lookupOption(name)
	switch {
	case !ok:
		return 0, refuse("error: unknown option '%s'", name)
	case opt.arity == noValue && inline:
		return 0, refuse("error: unknown option '%s'", arg)
	case opt.arity == oneValue && !inline && len(rest) == 0:
		return 0, refuse("error: option '%s <value>' argument missing", name)
	}
	used := 0
	if !inline && (opt.arity == oneValue || opt.arity == maybeValue && len(rest) > 0 && !strings.HasPrefix(rest[0], "-")) {
		value, used = rest[0], 1
	}
	if opt.set != nil {
		opt.set(o, value)
	}
	return used, nil
}

// takeShorts applies a word such as -pf or -ehttps://host.
func (o *options) takeShorts(word string) error {
	for i := 1; i < len(word); i++ {
		opt, ok := lookupOption("-" + word[i:i+1])
		if !ok {
			return refuse("error: unknown option '%s'", word)
		}
		value := ""
		if opt.arity != noValue {
			value = word[i+1:]
			i = len(word)
		}
		if opt.set != nil {
			opt.set(o, value)
		}
	}
	return nil
}
