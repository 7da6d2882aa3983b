package demo

import "encoding/json"

// step is one thing a simulated agent does.
type step map[string]any

// script writes steps the way the simulator reads them in a prompt. Scripts nest: a message may carry the script of
// whoever receives it, and a closing text the script of whoever gets it as a reply.
func script(steps ...step) string {
	data, _ := json.Marshal(steps)
	return "<<SCRIPT " + string(data) + " SCRIPT>>"
}

// The repository: a function, its test, and a mistake.
var files = map[string]string{
	"calc.sh": `# Arithmetic for those who have only a shell.
add() {
    echo $(($1 - $2))
}
`,
	"test.sh": `#!/bin/sh
. ./calc.sh
got=$(add 2 3)
if [ "$got" != 5 ]; then
    echo "FAIL: add 2 3 gave $got, not 5"
    exit 1
fi
echo "ok: add 2 3 gave 5"
`,
}

// instruction is what the user asks of the lead. What each agent decides is written into what it is sent.
func instruction() string {
	report := script(
		step{"shell": "sh test.sh"},
		step{"mcp": "list_children", "args": step{}},
		step{"mcp": "send_message", "args": step{"recipient": "USER", "text": "The test passes: add() subtracted. The coder mended it, the reviewer agrees."}},
		step{"text": "Reported."},
	)
	review := "Is the change right? Answer yes or no, with the reason. " + script(
		step{"shell": "git diff"},
		step{"read": "calc.sh"},
		step{"sleep_ms": 1200},
		step{"shell": "sh test.sh"},
		step{"shell": "touch written-by-the-reviewer"},
		step{"text": "Yes: add() adds now, and nothing else was touched. " + report},
	)
	handOver := script(
		step{"mcp": "send_message", "args": step{"recipient": "reviewer", "text": review}},
		step{"text": "I asked the reviewer."},
	)
	work := "The test fails. Find out why, mend it, run the test. " + script(
		step{"shell": "sh test.sh"},
		step{"read": "calc.sh"},
		step{"sleep_ms": 1200},
		step{"edit": "calc.sh", "old": "$1 - $2", "new": "$1 + $2"},
		step{"shell": "sh test.sh"},
		step{"mcp": "check_inbox", "args": step{}},
		step{"text": "Mended: add() subtracted. The test passes. " + handOver},
	)
	return "The test of this repository fails. Have it mended and reviewed, then tell me. " + script(
		step{"think": "A coder and a reviewer will do."},
		step{"shell": "sh test.sh"},
		step{"mcp": "spawn_agent", "args": step{"name": "coder", "instructions": "You mend code and run the tests.", "role": "worker"}},
		step{"mcp": "spawn_agent", "args": step{"name": "reviewer", "instructions": "You read changes and judge them.", "role": "reviewer"}},
		step{"mcp": "send_message", "args": step{"recipient": "coder", "text": work}},
		step{"text": "The coder is at work."},
	)
}
