package substratagent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// line is one line from the host.
type line struct {
	Type     string          `json:"type"`
	RawID    json.RawMessage `json:"id"`
	Protocol int             `json:"protocol"`
	Agent    About           `json:"agent"`
	State    json.RawMessage `json:"state"`
	Number   int             `json:"number"`
	Prompt   string          `json:"prompt"`
	Retry    string          `json:"retry"`
	Messages []Message       `json:"messages"`
	Calls    []call          `json:"calls"`
	Done     *string         `json:"done"`
	Result   json.RawMessage `json:"result"`
	Error    *CallError      `json:"error"`
}

func (l line) id() string {
	var id string
	_ = json.Unmarshal(l.RawID, &id)
	return id
}

// call is a call as it was recorded.
type call struct {
	ID     string          `json:"id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result"`
	Error  *CallError      `json:"error"`
}

// wire is the pair of streams.
type wire struct {
	in    *bufio.Reader
	out   io.Writer
	about About
}

// read gives the next line. One that is broken is what a host that died left of it: it is said again.
func (w *wire) read() (line, error) {
	for {
		data, err := w.in.ReadBytes('\n')
		if err != nil {
			return line{}, err
		}
		var l line
		if json.Unmarshal(data, &l) == nil {
			return l, nil
		}
	}
}

func (w *wire) write(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot encode a line: %w", err)
	}
	_, err = w.out.Write(append(data, '\n'))
	return err
}
