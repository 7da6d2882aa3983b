package team

import "substrat.dev/substrat"

// holdings: items, workspaces and what agents keep for later belong to agents that are there.
func (v *validation) holdings() error {
	for id, x := range v.Items {
		if x == nil || id == "" || x.ID != id || v.Agents[x.AgentID] == nil || x.State != substrat.ItemOpen {
			return v.broken("item %.80q is damaged", id)
		}
		if x.Kind == substrat.ItemBudget && (x.Budget < 0 || x.Budget >= len(v.Agents[x.AgentID].Budgets)) {
			return v.broken("item %s is about a budget that is not there", id)
		}
		if m := v.Messages[x.Message]; x.Kind == substrat.ItemMessage && (m == nil || m.State != substrat.Held || m.Item != id || m.ToID != x.AgentID) {
			return v.broken("item %s is about a message that is not held", id)
		}
	}
	if err := v.workspaces(); err != nil {
		return err
	}
	for id, a := range v.Agents {
		if a.Workspace != "" && v.Workspaces[a.Workspace] == nil {
			return v.broken("agent %s lives in a workspace that is not there", id)
		}
		if err := v.wishes(a); err != nil {
			return v.broken("agent %s: %v", id, err)
		}
	}
	return nil
}

// workspaces: owners and sources are there, and views end at a directory.
func (v *validation) workspaces() error {
	for id, w := range v.Workspaces {
		if w == nil || id == "" || w.ID != id || w.Owner != "" && v.Agents[w.Owner] == nil || checkInside(w.Subdir) != nil {
			return v.broken("workspace %.80q is damaged", id)
		}
		for n, at := 0, w; at.ViewOf != ""; n++ {
			if at = v.Workspaces[at.ViewOf]; at == nil || n > len(v.Workspaces) {
				return v.broken("workspace %s is a view of nothing", id)
			}
		}
		for _, l := range w.Links {
			if l.Source != "" && v.Workspaces[l.Source] == nil || checkInside(l.At) != nil || checkInside(l.Dir) != nil {
				return v.broken("workspace %s has a link that leads nowhere", id)
			}
		}
	}
	return nil
}

// wishes: subscriptions are to agents that are there, and nothing is there twice.
func (v *validation) wishes(a *Agent) error {
	seen := map[string]bool{}
	for _, s := range a.Subscriptions {
		if s.ID == "" || v.Agents[s.Target] == nil || seen[s.ID] {
			return part("its subscription %.80q is damaged", s.ID)
		}
		seen[s.ID] = true
	}
	for _, r := range a.Reminders {
		if r.ID == "" || seen[r.ID] || r.Every < 0 {
			return part("its reminder %.80q is damaged", r.ID)
		}
		seen[r.ID] = true
	}
	return nil
}
