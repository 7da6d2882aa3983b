package agentcli

// How many messages wait for results at the most, and how many bytes of them. A call whose result has not come by then is
// given without.
const (
	joinMost  = 512
	joinBytes = 64 << 20
)

// Joiner puts results of tools into the calls they belong to, for a CLI that keeps them in later messages. Messages come
// out in the order they went in; one with open calls, and those after it, wait until the results have come.
type Joiner struct {
	// Yield is given the messages.
	Yield func(Message) error
	queue []Message
	size  int
	open  map[string]*ToolCall
	// Count is how many messages were given.
	Count int
}

// Add takes the next message.
func (j *Joiner) Add(m Message) error {
	for i := range m.Blocks {
		if t := m.Blocks[i].Tool; t != nil && t.Status == ToolRunning && t.ID != "" {
			if j.open == nil {
				j.open = map[string]*ToolCall{}
			}
			j.open[t.ID] = t
		}
	}
	j.queue = append(j.queue, m)
	j.size += len(m.Raw)
	return j.drain(joinMost)
}

// Result takes a result: settle fills in the call. It reports whether there is such a call.
func (j *Joiner) Result(id string, settle func(*ToolCall)) (bool, error) {
	call := j.open[id]
	if call == nil {
		return false, nil
	}
	delete(j.open, id)
	settle(call)
	if call.Status == ToolRunning {
		call.Status = ToolOK
	}
	return true, j.drain(joinMost)
}

// Flush gives what is left, calls without a result too.
func (j *Joiner) Flush() error { return j.drain(0) }

// drain gives the messages at the front that wait for nothing, and more while over so many are queued.
func (j *Joiner) drain(most int) error {
	n := 0
	for ; n < len(j.queue); n++ {
		m := j.queue[n]
		if len(j.queue)-n <= most && j.size <= joinBytes && most > 0 && waits(m) {
			break
		}
		j.size -= len(m.Raw)
		for _, b := range m.Blocks {
			if b.Tool != nil && j.open[b.Tool.ID] == b.Tool {
				delete(j.open, b.Tool.ID)
			}
		}
		if err := j.Yield(m); err != nil {
			j.queue = j.queue[n+1:]
			return err
		}
		j.Count++
	}
	j.queue = j.queue[n:]
	return nil
}

func waits(m Message) bool {
	for _, b := range m.Blocks {
		if b.Tool != nil && b.Tool.Status == ToolRunning && b.Tool.ID != "" {
			return true
		}
	}
	return false
}
