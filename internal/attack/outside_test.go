//go:build attack && linux

package attack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// outsideMain is the host's side under one user: it makes the world, has everything tried, and prints a row for each.
func outsideMain(dir string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			b, ok := p.(broken)
			if !ok {
				panic(p)
			}
			fmt.Fprintln(os.Stderr, "attack: the world broke:", b.err)
			code = 1
		}
	}()
	w := &world{dir: dir, bin: os.Getenv("ATTACK_BIN"), home: filepath.Join(dir, "home"), hostHome: filepath.Join(dir, "person")}
	w.http = dialer(w.home)
	defer w.clean()
	defer w.stop()
	w.furnish()
	w.populate()
	w.usual = w.pulse()
	rows := json.NewEncoder(os.Stdout)
	w.rehearse()
	for _, a := range attempts() {
		if !wanted(a.id) {
			continue
		}
		o := w.result(a)
		if !w.alive() {
			o = was(hole, "the daemon does not answer any more. %s", o.Text)
		}
		o.Text = strings.ReplaceAll(strings.ReplaceAll(o.Text, w.dir, "DIR"), "\n", " ")
		_ = rows.Encode(row{a.id, o})
		if os.Getenv("ATTACK_TRACE") != "" {
			fmt.Fprintf(os.Stderr, "%s %-9s %s: %s\n", a.id, o.Verdict, a.what, o.Text)
		}
	}
	return 0
}

// result is what an attempt came to, after all.
func (w *world) result(a attempt) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			b, ok := p.(broken)
			if !ok {
				panic(p)
			}
			o = was(untried, "%v", b.err)
		}
	}()
	if a.play != nil {
		w.seen = w.lastEvent()
		o = a.play(w)
	} else {
		w.seen = w.began["lead/"+cmp.Or(a.agent, "attacker")]
		o = w.inside[a.id]
		if o.Verdict == "" {
			o = was(untried, "the program inside said nothing of it")
		}
		if a.judge != nil {
			o = a.judge(w, o)
		}
	}
	if a.event != nil && o.Verdict == refused && !w.wasTold(a.event) {
		o = was(silent, "%s; but no event tells of it", o.Text)
	}
	return o
}

// speech are the events that repeat what agents said, which proves nothing.
var speech = regexp.MustCompile(`^(agent\.created|turn\.|inbox\.)`)

// wasTold says whether an event since the attempt matches, by its type and data, or a warning of the system's.
func (w *world) wasTold(pattern *regexp.Regexp) bool {
	for range 20 { // what is noticed beside a turn may take a moment
		for _, e := range w.events(w.seen) {
			if e.Type == "message.sent" && !strings.Contains(string(e.Data), `"from":"system"`) || speech.MatchString(e.Type) {
				continue
			}
			if pattern.MatchString(e.Type + " " + string(e.Data)) {
				return true
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

// rehearse has the attackers try everything that is tried inside, each in one turn.
func (w *world) rehearse() {
	w.inside, w.began = map[string]outcome{}, map[string]int64{}
	for _, agent := range []string{"attacker", "door"} {
		var ids []string
		for _, a := range attempts() {
			if a.try == nil || !wanted(a.id) || (a.agent == "door") != (agent == "door") {
				continue
			}
			if agent == "door" && !w.door {
				w.inside[a.id] = was(untried, "there is no network by a door here")
				continue
			}
			if a.prepare != nil {
				a.prepare(w)
			}
			ids = append(ids, a.id)
		}
		if len(ids) > 0 {
			w.batch("lead/"+agent, ids)
		}
	}
}

// batch has an agent try attempts in one turn, while a turn of the victim is open.
func (w *world) batch(agent string, ids []string) {
	_, turn := w.begin("lead/victim", step{"sleep_ms": 600_000})
	defer w.cancel("lead/victim")
	token, err := os.ReadFile(filepath.Join(w.home, "turns", turn, "sock", "token"))
	must(err)
	w.facts.VictimToken, w.facts.VictimSock = string(token), filepath.Join(w.home, "turns", turn, "sock", "agent.sock")
	w.writeFacts()
	w.began[agent] = w.lastEvent()
	results := filepath.Join(w.facts.Shared, "results.json")
	_ = os.Remove(results)
	msg := w.send(agent, script(step{"shell": "./probe inside batch facts.json results.json " + strings.Join(ids, " "), "timeout_ms": 500_000}, step{"text": "{{last}}"}))
	r := w.wait(msg, 9*time.Minute)
	data, err := os.ReadFile(results)
	if err != nil && r.Turn != nil {
		err = fmt.Errorf("%w: the turn %s: %s %s", err, r.Turn.Outcome, r.Turn.Detail, r.Turn.Text)
	}
	must(err)
	for line := range strings.Lines(string(data)) {
		var x row
		if json.Unmarshal([]byte(line), &x) == nil {
			w.inside[x.ID] = x.Outcome
		}
	}
}

func (w *world) writeFacts() {
	data, err := json.Marshal(w.facts)
	must(err)
	must(os.WriteFile(filepath.Join(w.facts.Shared, "facts.json"), data, 0o644))
}

// populate starts the daemon and makes its agents.
func (w *world) populate() {
	w.configure()
	w.start()
	w.facts.Daemon = w.daemon.Process.Pid
	w.facts.Agents = map[string]agentFacts{}
	add := func(n substrat.NewAgent) {
		a := w.create(n)
		w.facts.Agents[n.Name] = agentFacts{a.ID, filepath.Join(w.home, "agents", a.ID, "home")}
	}
	add(substrat.NewAgent{Name: "lead", Dir: w.facts.Shared, Role: substrat.Manager})
	add(substrat.NewAgent{Name: "attacker", Parent: "lead", Dir: w.facts.Shared})
	add(substrat.NewAgent{Name: "victim", Parent: "lead", Dir: w.facts.Shared})
	add(substrat.NewAgent{Name: "recluse", Parent: "lead", Dir: w.facts.Private})
	add(substrat.NewAgent{Name: "critic", Parent: "lead", Dir: w.facts.Shared, Role: substrat.Reviewer})
	add(substrat.NewAgent{Name: "stranger", Dir: filepath.Join(w.dir, "strange")})
	add(substrat.NewAgent{Name: "witness", Dir: filepath.Join(w.dir, "witness")})
	w.openDoor()
	// Everybody has had a turn, so that their homes are furnished.
	for _, ref := range []string{"lead/victim", "lead/recluse", "witness"} {
		w.turn(ref, step{"shell": "printf %s " + w.facts.Canary + " > $HOME/secret; printf %s " + w.facts.Canary + " > /tmp/secret"})
	}
	// By a file: a token that is printed is taken out.
	w.shell("lead/attacker", "cat $SUBSTRAT_TOKEN_FILE > old-token")
	old, err := os.ReadFile(filepath.Join(w.facts.Shared, "old-token"))
	must(err)
	w.facts.OldToken = strings.TrimSpace(string(old))
	if len(w.facts.OldToken) < 16 {
		must(fmt.Errorf("no token of an older turn: %q", w.facts.OldToken))
	}
	var api struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	must(w.do(http.MethodGet, "/v1/openapi.json", nil, &api))
	for path, methods := range api.Paths {
		for m := range methods {
			w.facts.Routes = append(w.facts.Routes, [2]string{strings.ToUpper(m), path})
		}
	}
	if len(w.facts.Routes) < 20 {
		must(errors.New("the operator's routes are not known"))
	}
}
