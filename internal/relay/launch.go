package relay

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// launchTime bounds how long a daemon may be away when an MCP server is to be started.
const launchTime = 30 * time.Second

// Launch asks the daemon how one of the agent's MCP servers is started: its command and all variables that it has beside
// those of who asks.
func Launch(ctx context.Context, o Options, server string) (argv []string, env map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, launchTime)
	defer cancel()
	for pause := backoffLeast; ; pause = min(2*pause, backoffMost) {
		if argv, env, err = askLaunch(ctx, o, server); err == nil || errors.Is(err, ErrRefused) {
			return argv, env, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, err
		case <-time.After(pause):
		}
	}
}

func askLaunch(ctx context.Context, o Options, server string) ([]string, map[string]string, error) {
	conn, err := o.Dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	line, err := json.Marshal(map[string]any{"substrat": map[string]any{"v": 1, "relay": rand.Text(), "token": o.Token, "agent": o.AgentID, "serve": server}})
	if err != nil {
		return nil, nil, err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return nil, nil, err
	}
	said, err := bufio.NewReader(io.LimitReader(conn, lineMost)).ReadBytes('\n')
	if err != nil {
		return nil, nil, err
	}
	var answer struct {
		Launch *struct {
			Argv []string          `json:"argv"`
			Env  map[string]string `json:"env"`
		} `json:"launch"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(bytes.TrimSpace(said), &answer); {
	case err != nil:
		return nil, nil, errors.New("the daemon's answer is not JSON") // it is not repeated: it may hold a key
	case answer.Error != nil:
		return nil, nil, fmt.Errorf("%s: %w", answer.Error.Message, ErrRefused)
	case answer.Launch == nil || len(answer.Launch.Argv) == 0:
		return nil, nil, fmt.Errorf("the daemon does not say how it is started: %w", ErrRefused)
	}
	return answer.Launch.Argv, answer.Launch.Env, nil
}
