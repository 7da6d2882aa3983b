package team

import (
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// Waits lists who waits for whom in a team, in the order in which the waiting began.
func (s *State) Waits() []substrat.Wait {
	var out []substrat.Wait
	for _, id := range s.Walk() {
		a := s.Agents[id]
		for _, r := range a.Awaits {
			m := s.Messages[r]
			out = append(out, substrat.Wait{
				From: s.Path(id), To: s.Path(m.ToID), On: r, Kind: substrat.WaitsReply, Since: m.CreatedAt, Until: m.Deadline,
			})
		}
		for _, x := range s.openItems(id, substrat.ItemQuestion) {
			out = append(out, substrat.Wait{
				From: s.Path(id), To: substrat.User, On: x.ID, Kind: substrat.WaitsQuestion, Since: x.CreatedAt, Until: x.Deadline,
			})
		}
	}
	return out
}

// Cycles lists the cycles among those who wait, each once, beginning with the agent whose path sorts first.
func (s *State) Cycles() [][]string {
	seen := map[string]bool{}
	var out [][]string
	for _, id := range s.Walk() {
		if len(s.Agents[id].Awaits) == 0 {
			continue
		}
		if c := s.cycleThrough(id); c != nil {
			paths := make([]string, len(c))
			for i, x := range c {
				paths[i] = s.Path(x)
			}
			first := slices.Index(paths, slices.Min(paths))
			paths = slices.Concat(paths[first:], paths[:first])
			if key := strings.Join(paths, " "); !seen[key] {
				seen[key] = true
				out = append(out, paths)
			}
		}
	}
	return out
}

// cycleThrough finds a shortest cycle of waits through an agent.
func (s *State) cycleThrough(start string) []string {
	from := map[string]string{}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		for _, r := range s.Agents[queue[0]].Awaits {
			to := s.Messages[r].ToID
			if to == start {
				path := []string{queue[0]}
				for path[0] != start {
					path = append([]string{from[path[0]]}, path...)
				}
				return path
			}
			if _, ok := from[to]; !ok && s.Agents[to] != nil {
				from[to] = queue[0]
				queue = append(queue, to)
			}
		}
	}
	return nil
}

// closesCycle tells whether a request that was just decided makes those who wait go round in a circle: the agents on it,
// beginning with the sender. It looks at the state before the request.
func (d *decision) closesCycle(m *Message) []string {
	if m.FromID == m.ToID {
		return nil
	}
	from := map[string]string{}
	for queue := []string{m.ToID}; len(queue) > 0; queue = queue[1:] {
		for _, r := range d.Agents[queue[0]].Awaits {
			to := d.Messages[r].ToID
			if _, ok := from[to]; ok || to == m.ToID || d.Agents[to] == nil {
				continue
			}
			from[to] = queue[0]
			if to != m.FromID {
				queue = append(queue, to)
				continue
			}
			path := []string{m.FromID}
			for at := from[to]; ; at = from[at] {
				path = append([]string{at}, path...)
				if at == m.ToID {
					break
				}
			}
			return append([]string{m.FromID}, path[:len(path)-1]...)
		}
	}
	return nil
}

// CycleFound means: agents wait for each other in a circle. It stops nobody, because a request wakes an agent that
// waits; it is for people who look into why a team goes in circles.
type CycleFound struct {
	// Agents are ids, Paths the same for readers: each waits for the next, the last for the first.
	Agents []string `json:"agents"`
	Paths  []string `json:"paths"`
	// Message closed it.
	Message string `json:"message"`
}

// Type implements Fact.
func (*CycleFound) Type() string { return "cycle.found" }

func (x *CycleFound) fold(*folding) error { return nil }

// noteCycle adds the fact if a request closes a cycle.
func (d *decision) noteCycle(m *Message) {
	ids := d.closesCycle(m)
	if ids == nil {
		return
	}
	paths := make([]string, len(ids))
	for i, id := range ids {
		paths[i] = d.Path(id)
	}
	d.add(&CycleFound{Agents: ids, Paths: paths, Message: m.ID})
}
