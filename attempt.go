package substrat

import "time"

// Attempt is one try of an agent's process to reach a host, as its egress door saw it.
type Attempt struct {
	At   time.Time `json:"at"`
	Turn string    `json:"turn,omitempty"`
	Host string    `json:"host"`
	Port int       `json:"port,omitempty"`
	// Via is how: dns (a name was asked for), tls, http, connect (as a proxy), tcp, route (with a key that the door adds).
	Via string `json:"via"`
	// Verdict is allowed, denied, asked (of a person), failed (the host could not be reached) or closed (the end of an allowed one,
	// with its bytes). Why says the reason of what was not let through.
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
	// Address is what was dialled.
	Address string `json:"address,omitempty"`
	// Up and Down are bytes from and to the agent. Count is how many like it this stands for, 0 for one.
	Up    int64 `json:"up,omitempty"`
	Down  int64 `json:"down,omitempty"`
	Count int   `json:"count,omitempty"`
}
