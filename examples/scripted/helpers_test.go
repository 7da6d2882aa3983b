// Package scripted_test holds both helper libraries to the same conversations.
package scripted_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"substrat.dev/substrat/examples/scripted/go/substratagent"
)

// goTurn is the program of the tests in Go; pyTurn is the same in Python.
func goTurn(seen *[]string) func(t *substratagent.Turn) (string, error) {
	return func(t *substratagent.Turn) (string, error) {
		*seen = append(*seen, t.Prompt)
		if t.Prompt == "fail" {
			return "", errors.New("as told")
		}
		var got struct {
			N int `json:"n"`
		}
		if err := t.Call("tool", map[string]any{"of": t.Number}, &got); err != nil {
			var refused *substratagent.CallError
			if !errors.As(err, &refused) {
				return "", err
			}
			got.N = -1
		}
		var drawn int
		if err := t.Once("draw", &drawn, func() (any, error) { return 7, nil }); err != nil {
			return "", err
		}
		if err := t.Checkpoint(*seen); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %d %d", len(*seen), got.N, drawn), nil
	}
}

const pyTurn = `
import substrat_agent

seen = []

def turn(t):
    seen.append(t.prompt)
    if t.prompt == "fail":
        raise Exception("as told")
    try:
        n = t.call("tool", of=t.number)["n"]
    except substrat_agent.CallError:
        n = -1
    drawn = t.once("draw", lambda: 7)
    t.checkpoint(seen)
    return f"{len(seen)} {n} {drawn}"

def restore(state):
    seen[:] = state

substrat_agent.run(turn, restore)
`

// talk is a program that is talked to line by line.
type talk struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

func (p talk) say(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.in, line+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

// hear compares the next line with parts that it is to have.
func (p talk) hear(parts ...string) {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("heard %q and then %v", line, err)
	}
	var norm any
	if err := json.Unmarshal([]byte(line), &norm); err != nil {
		p.t.Fatalf("heard %q", line)
	}
	data, err := json.Marshal(norm)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, part := range parts {
		if !strings.Contains(string(data), part) {
			p.t.Errorf("heard %s, want %s", data, part)
		}
	}
}

func (p talk) silent() {
	p.t.Helper()
	if rest, _ := io.ReadAll(p.out); len(rest) > 0 {
		p.t.Errorf("heard %q at the end", rest)
	}
}

// both runs a conversation with each library. end closes the program's input and gives how it ended.
func both(t *testing.T, f func(p talk, end func() error)) {
	t.Run("go", func(t *testing.T) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			var seen []string
			err := substratagent.Serve(substratagent.Program{
				Turn: goTurn(&seen), Restore: func(state json.RawMessage) error { return json.Unmarshal(state, &seen) },
			}, inR, outW)
			_, _ = inR.Close(), outW.Close()
			ended <- err
		}()
		f(talk{t, inW, bufio.NewReader(outR)}, func() error { _ = inW.Close(); return <-ended })
	})
	t.Run("python", func(t *testing.T) {
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("there is no python3 here")
		}
		dir := t.TempDir()
		helper, err := os.ReadFile("python/substrat_agent.py")
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string]string{"substrat_agent.py": string(helper), "program.py": pyTurn} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(python, filepath.Join(dir, "program.py"))
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		f(talk{t, in, bufio.NewReader(out)}, func() error { _ = in.Close(); return cmd.Wait() })
	})
}

const hello = `{"type":"hello","protocol":1,"agent":{"name":"x"}}`

func calls(n int) string {
	return fmt.Sprintf(`[{"id":"1","tool":"tool","args":{"of":%d},"result":{"n":5}},{"id":"2","tool":"record","args":{"name":"draw"},"result":{"value":9}}]`, n)
}

func TestLive(t *testing.T) {
	both(t, func(p talk, end func() error) {
		p.say(hello, `{"type":"turn","id":"a","number":1,"prompt":"p","messages":[],"calls":[]}`)
		p.hear(`"id":"1"`, `"tool":"tool"`, `"args":{"of":1}`, `"turn":"a"`, `"type":"call"`)
		// What a host that died says in part, or again, is passed over.
		p.say(`{"type":"resul`, `{"type":"turn","id":"a","number":1,"prompt":"p"}`, "", `{"type":"result","id":"0"}`, `{"type":"result","id":"1","result":{"n":3}}`)
		p.hear(`"id":"2"`, `"tool":"record"`, `"value":{"value":7}`)
		p.say(`{"type":"result","id":"1","result":{"n":4}}`, `{"type":"result","id":"2","result":{"value":7}}`)
		p.hear(`"type":"done"`, `"text":"1 3 7"`, `"state":["p"]`)
		p.say(`{"type":"turn","id":"a","number":1,"prompt":"p"}`, `{"type":"turn","id":"b","number":2,"prompt":"fail"}`)
		p.hear(`"type":"fail"`, `as told`, `"turn":"b"`)
		p.say(`{"type":"turn","id":"c","number":3,"prompt":"q"}`)
		p.hear(`"id":"1"`)
		p.say(`{"type":"cancel","id":"c"}`, `{"type":"result","id":"1","error":{"code":"invalid","message":"no"}}`)
		p.hear(`"id":"2"`)
		p.say(`{"type":"result","id":"2","error":{"code":"cancelled","message":"stop"}}`)
		p.hear(`"type":"fail"`, `"turn":"c"`)
		if err := end(); err != nil {
			t.Error(err)
		}
		p.silent()
	})
}

// TestReplay: what was before is done again without a word, and the open turn goes on where its record ends.
func TestReplay(t *testing.T) {
	both(t, func(p talk, end func() error) {
		p.say(`{"type":"hello","protocol":1,"agent":{},"state":["x","y"]}`,
			`{"type":"history","id":"a","number":1,"prompt":"p","messages":[],"calls":`+calls(1)+`,"done":"3 5 9"}`,
			`{"type":"history","id":"b","number":2,"prompt":"fail","messages":[],"calls":[],"failed":"as told"}`,
			`{"type":"turn","id":"c","number":3,"prompt":"q","messages":[],"calls":[{"id":"1","tool":"tool","args":{"of":3},"error":{"code":"limit"}}]}`)
		p.hear(`"id":"2"`, `"tool":"record"`)
		p.say(`{"type":"result","id":"2","result":{"value":7}}`)
		p.hear(`"type":"done"`, `"text":"5 -1 7"`)
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// TestChanged: a program that does something else than the record says ends, and says what.
func TestChanged(t *testing.T) {
	turn := `{"type":"turn","id":"z","number":9,"prompt":"p","messages":[],"calls":[]}`
	tests := map[string]struct{ lines, want string }{
		"another call": {`{"type":"history","id":"a","number":2,"prompt":"p","calls":` + calls(1) + `,"done":""}` + "\n" + turn,
			"the program changed: call 1 of turn 2 was tool"},
		"one call more": {`{"type":"history","id":"a","number":2,"prompt":"p","calls":[],"done":""}` + "\n" + turn,
			"the program changed: turn 2 made 0 calls, and makes another: tool"},
		"calls less": {`{"type":"history","id":"a","number":1,"prompt":"p","calls":` + strings.Replace(calls(1), "]", `,{"id":"3","tool":"x"}]`, 1) + `,"done":""}` + "\n" + turn,
			"the program changed: turn 1 made 3 calls, and now ends after 2"},
		"no failure": {`{"type":"history","id":"a","number":1,"prompt":"p","calls":` + calls(1) + `,"failed":"x"}` + "\n" + turn,
			"the program changed: turn 1 failed, and now is done"},
		"a failure":     {`{"type":"history","id":"a","number":1,"prompt":"fail","calls":[],"done":"x"}` + "\n" + turn, "the program changed: turn 1 was done, and now fails"},
		"the open turn": {`{"type":"turn","id":"z","number":1,"prompt":"p","messages":[],"calls":` + calls(2) + `}`, "the program changed: call 1 of turn 1 was tool"},
		"a protocol":    {`{"type":"hello","protocol":9}` + "\n" + turn, "the host speaks protocol 9"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			both(t, func(p talk, end func() error) {
				p.say(hello, tt.lines)
				p.hear(`"type":"fail"`, `"void":true`, `"turn":"z"`, tt.want)
				if end() == nil {
					p.t.Error("the program goes on")
				}
			})
		})
	}
}
