package team

import "substrat.dev/substrat"

// Warn tells whoever is above an agent of something the daemon noticed: its parent, the user for a root. Nobody is woken
// from waiting by it.
type Warn struct {
	ID, Agent, Text string
}

func (c Warn) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	m := Message{Message: substrat.Message{
		ID: c.ID, Team: d.Team, From: substrat.System, To: substrat.User, Kind: substrat.KindNotification, Text: clean(c.Text), Hops: a.LastHops + 1,
	}}
	if p := d.Agents[a.Parent]; p != nil {
		m.ToID, m.To = p.ID, d.Path(p.ID)
	}
	d.send(m)
	return Status{"warned"}, nil
}
