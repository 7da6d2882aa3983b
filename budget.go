package substrat

// BudgetScope says whose spending a budget bounds.
type BudgetScope string

// The scopes of budgets.
const (
	// ScopeAgent: the agent it is set on.
	ScopeAgent BudgetScope = "agent"
	// ScopeSubtree: the agent and everything under it.
	ScopeSubtree BudgetScope = "subtree"
)

// BudgetPeriod says when a budget begins anew.
type BudgetPeriod string

// The periods of budgets.
const (
	// PeriodTotal: never.
	PeriodTotal BudgetPeriod = "total"
	// PeriodDay: at midnight UTC.
	PeriodDay BudgetPeriod = "day"
)

// Budget bounds what an agent, or a subtree, may use. Zero means unbounded; a person is warned at 80 %, and when one of
// the bounds is reached no new turn starts until a person extends it or the period ends. Turns are never passed; a turn
// that runs is not cut off, so the other measures can be passed by what runs at that moment.
type Budget struct {
	// Scope is subtree and Period total where they are empty.
	Scope  BudgetScope  `json:"scope,omitempty"`
	Period BudgetPeriod `json:"period,omitempty"`
	Turns  int          `json:"turns,omitempty"`
	// WallSeconds counts the time turns took, Tokens input and output together, CostMicros millionths of a dollar.
	WallSeconds int64 `json:"wall_seconds,omitempty"`
	Tokens      int64 `json:"tokens,omitempty"`
	CostMicros  int64 `json:"cost_micros,omitempty"`
}

// Spent is what was used.
type Spent struct {
	Turns      int   `json:"turns"`
	WallMS     int64 `json:"wall_ms"`
	Tokens     int64 `json:"tokens"`
	CostMicros int64 `json:"cost_micros"`
	// Unpriced counts turns whose cost is not known.
	Unpriced int `json:"unpriced,omitempty"`
}
