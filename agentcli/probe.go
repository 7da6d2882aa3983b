package agentcli

import "context"

// Prober tells what is installed. It may run the program.
type Prober interface {
	Probe(ctx context.Context) Status
}

// Login says whether a CLI has an account to work with.
type Login string

// The states of a login.
const (
	LoginUnknown Login = "" // the CLI does not tell without a turn
	LoggedIn     Login = "yes"
	LoggedOut    Login = "no"
)

// Model is one that a CLI offers.
type Model struct {
	ID      string `json:"id"`
	Title   string `json:"title,omitempty"`
	Default bool   `json:"default,omitempty"`
}

// Status is what Probe found.
type Status struct {
	Installed bool   `json:"installed"`
	Path      string `json:"path,omitempty"`
	Version   string `json:"version,omitempty"`
	Login     Login  `json:"login,omitempty"`
	// Account is who is logged in, as the CLI names them.
	Account string `json:"account,omitempty"`
	// Models is empty where the CLI does not list them.
	Models []Model `json:"models,omitempty"`
	// Problem and Remedy are for people, empty when all is well.
	Problem string `json:"problem,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
}
