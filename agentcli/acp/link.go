package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// link is our side of the connection. Lines may be written from several goroutines; one reads.
type link struct {
	conn agentcli.Conn
	mu   sync.Mutex
	// others are the requests of ours that were answered while another one's answer was waited for.
	others map[string]bool
}

func (l *link) send(ctx context.Context, line []byte, err error) error {
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn.WriteFrame(ctx, line)
}

// reply answers a request of the agent's.
func (l *link) reply(ctx context.Context, id json.RawMessage, result any, e *rpcError) error {
	line, err := response(id, result, e)
	return l.send(ctx, line, err)
}

// call makes a request and waits for its answer, before there is a turn. Updates that come meanwhile are history or too
// early to mean anything; requests are answered so that the agent never waits.
func (l *link) call(ctx context.Context, id, method string, params, result any) (*rpcError, error) {
	line, err := request(ourPrefix+id, method, params)
	deaf := l.send(ctx, line, err)
	if deaf != nil && !gone(deaf) {
		return nil, deaf
	}
	for {
		f, err := l.lastWords(ctx, deaf)
		if err != nil {
			return nil, err
		}
		m, ok := parse(f.Data)
		if !ok {
			continue
		}
		if m.Method != "" {
			if m.isRequest() {
				if err := l.stray(ctx, m); err != nil {
					return nil, err
				}
			}
			continue
		}
		if got, ok := ours(m.ID); !ok || got != ourPrefix+id {
			if l.others == nil {
				l.others = map[string]bool{}
			}
			l.others[got] = ok
			continue
		}
		if m.Error != nil {
			return m.Error, nil
		}
		if result == nil || len(m.Result) == 0 {
			return nil, nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return nil, &agentcli.Failure{Class: substrat.ClassProtocol, Detail: fmt.Sprintf("the agent's answer to %s makes no sense: %v", method, err)}
		}
		return nil, nil
	}
}

// lastWordsTime is how long a process that no longer reads may take to end.
const lastWordsTime = 5 * time.Second

// lastWords reads on. After deaf, an error that says that the process no longer reads, what it printed before still counts, and its
// end says more than that error; one that does not end is given up with it.
func (l *link) lastWords(ctx context.Context, deaf error) (agentcli.Frame, error) {
	if deaf == nil {
		return l.conn.ReadFrame(ctx)
	}
	timed, cancel := context.WithTimeout(ctx, lastWordsTime)
	defer cancel()
	f, err := l.conn.ReadFrame(timed)
	if errors.Is(err, context.DeadlineExceeded) {
		err = deaf
	}
	return f, err
}

// barrier passes over what an agent still tells of before: its answer to a request that it does not know comes after what it
// had sent by then. It is for an agent that is known to answer such requests.
func (l *link) barrier(ctx context.Context, id string) error {
	_, err := l.call(ctx, id, barrierMethod, struct{}{}, nil)
	return err
}

// barrierMethod is known to nobody.
const barrierMethod = "substrat/barrier"

// stray answers a request that came while no turn was open.
func (l *link) stray(ctx context.Context, m message) error {
	result, e := strayAnswer(m)
	err := l.reply(ctx, m.ID, result, e)
	if substrat.CodeOf(err) == substrat.CodeConflict {
		return nil
	}
	return err
}

// strayAnswer is what a request gets for which there is no turn, and so nobody to ask.
func strayAnswer(m message) (any, *rpcError) {
	switch m.Method {
	case "session/request_permission", "cursor/ask_question", "cursor/create_plan":
		return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}, nil
	case methodElicit:
		return elicited{"cancel"}, nil
	}
	return nil, &rpcError{Code: codeMethodNotFound, Message: "not available outside a turn: " + clip(m.Method)}
}

// gone reports whether an error says only that the process no longer reads: what it printed still counts.
func gone(err error) bool {
	return substrat.CodeOf(err) == substrat.CodeConflict || errors.Is(err, agentcli.ErrNoStdin)
}
