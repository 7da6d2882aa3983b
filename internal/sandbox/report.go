package sandbox

// Report is what Probe found, for `substrat doctor`.
type Report struct {
	Findings []Finding `json:"findings"`
	// CanSandbox: every required finding is OK.
	CanSandbox bool `json:"can_sandbox"`
}

// Finding is one thing that was looked at. Remedy is empty where OK.
type Finding struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Required findings decide on CanSandbox; the others are limits that a person should know of.
	Required bool   `json:"required"`
	Detail   string `json:"detail"`
	Remedy   string `json:"remedy,omitempty"`
}
