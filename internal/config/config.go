package config

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/secret"
)

// Config is the whole file.
type Config struct {
	Slots     Slots               `toml:"slots"`
	Memory    Memory              `toml:"memory"`
	Idle      Idle                `toml:"idle"`
	Limits    Limits              `toml:"limits"`
	Rates     Rates               `toml:"rates"`
	Ask       Ask                 `toml:"ask"`
	Budgets   []Budget            `toml:"budget"`
	Providers map[string]Provider `toml:"providers"`
	Models    map[string]string   `toml:"models"`
	Policies  []Policy            `toml:"policy"`
	Gates     []Gate              `toml:"gate"`
	Servers   map[string]Server   `toml:"mcp"`
	Network   Network             `toml:"network"`
	Guard     Guard               `toml:"guard"`
	Resources Resources           `toml:"resources"`
	Bounds    []Bound             `toml:"resource"`
	Profiles  map[string]Profile  `toml:"profiles"`
	API       API                 `toml:"api"`
}

// API is how the control API is reached besides by its socket. Without Listen it is not.
type API struct {
	// Listen is an address with a port.
	Listen string `toml:"listen"`
	// Hosts are names that the daemon answers to, besides localhost and the address.
	Hosts []string `toml:"hosts"`
	// TLSCert and TLSKey are files in PEM, both or neither.
	TLSCert string `toml:"tls_cert"`
	TLSKey  string `toml:"tls_key"`
}

// Slots is how many provider processes may run at once, in all and by provider. Total 0 means the default, or what the
// command line says.
type Slots struct {
	Total     int            `toml:"total"`
	Providers map[string]int `toml:"providers"`
}

// Memory bounds what is started by what the machine has left.
type Memory struct {
	// FreeLeast is what must be free before a process starts.
	FreeLeast Size `toml:"free_least"`
}

// Idle says when sessions without a turn are suspended.
type Idle struct {
	SuspendAfter Duration `toml:"suspend_after"`
}

// Limits bound teams. Zero means the built-in limit. Teams has those of single teams, by the root's name.
type Limits struct {
	TeamLimits
	Teams map[string]TeamLimits `toml:"teams"`
}

// TeamLimits are the limits of one team.
type TeamLimits struct {
	Depth           int      `toml:"depth"`
	Descendants     int      `toml:"descendants"`
	Hops            int      `toml:"hops"`
	Attempts        int      `toml:"attempts"`
	Interrupts      int      `toml:"interrupts"`
	ReplyDeadline   Duration `toml:"reply_deadline"`
	Backoff         Duration `toml:"backoff"`
	BackoffMost     Duration `toml:"backoff_most"`
	TextBytes       Size     `toml:"text_bytes"`
	Mailbox         int      `toml:"mailbox"`
	SpawnsPerMinute int      `toml:"spawns_per_minute"`
	Reminders       int      `toml:"reminders"`
	Subscriptions   int      `toml:"subscriptions"`
	Questions       int      `toml:"questions"`
}

// Rates bound calls of tools. Zero means the built-in rate.
type Rates struct {
	AgentPerMinute int `toml:"agent_per_minute"`
	AgentBurst     int `toml:"agent_burst"`
	TeamPerMinute  int `toml:"team_per_minute"`
	TeamBurst      int `toml:"team_burst"`
}

// Ask is about questions to a person.
type Ask struct {
	Deadline Duration `toml:"deadline"`
}

// Budget is one that agents are created with, if they match.
type Budget struct {
	Agent   Path                  `toml:"agent"`
	Role    Words                 `toml:"role"`
	Scope   substrat.BudgetScope  `toml:"scope"`
	Period  substrat.BudgetPeriod `toml:"period"`
	Turns   int                   `toml:"turns"`
	Wall    Duration              `toml:"wall"`
	Tokens  int64                 `toml:"tokens"`
	CostUSD float64               `toml:"cost_usd"`
}

// Provider is what is to be known of one kind of agent CLI. Prices are dollars for a million tokens. Env says where the
// values of variables come from. Paths of the host are shown in its sandbox, read-only.
type Provider struct {
	Env           map[string]secret.Source `toml:"env"`
	Paths         []string                 `toml:"paths"`
	Hosts         []string                 `toml:"hosts"`
	KeyOutside    bool                     `toml:"key_outside"`
	Model         string                   `toml:"model"`
	Account       string                   `toml:"account"`
	ToolCap       *int                     `toml:"tool_cap"`
	InputUSD      *float64                 `toml:"input_usd_per_mtok"`
	OutputUSD     *float64                 `toml:"output_usd_per_mtok"`
	CacheReadUSD  *float64                 `toml:"cache_read_usd_per_mtok"`
	CacheWriteUSD *float64                 `toml:"cache_write_usd_per_mtok"`
}

// Policy decides about calls that match all that it names. The first that matches decides.
type Policy struct {
	Effect  string `toml:"effect"`
	Role    Words  `toml:"role"`
	Agent   Path   `toml:"agent"`
	Tool    Words  `toml:"tool"`
	Command Text   `toml:"command"`
	Path    Text   `toml:"path"`
	Reason  string `toml:"reason"`
}

// Gate holds messages between agents for a person, if they match all that it names.
type Gate struct {
	From Path   `toml:"from"`
	To   Path   `toml:"to"`
	Kind Words  `toml:"kind"`
	Text string `toml:"text"`

	text *regexp.Regexp
}

// Server is a further MCP server for agents: a program, or an address that is spoken to over HTTP. Env and Headers say where the values
// of its variables, or of the headers of each request, come from.
type Server struct {
	Command []string                 `toml:"command"`
	Env     map[string]secret.Source `toml:"env"`
	URL     string                   `toml:"url"`
	Headers map[string]Header        `toml:"headers"`
	Roles   Words                    `toml:"roles"`
	Agents  []Path                   `toml:"agents"`
	// Tools is how many it has, 0 if that is not known.
	Tools int `toml:"tools"`
}

// Defaults of what is not in the file.
const (
	DefaultFreeLeast    = 256 << 20
	DefaultSuspendAfter = 10 * time.Minute
)

// fileMost bounds the file.
const fileMost = 4 << 20

// Load reads a file. One that is not there gives the defaults.
func Load(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Parse(path, nil)
	}
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration: %v", err)
	}
	return Parse(path, data)
}

// Parse reads the text of a file; name is for its errors.
func Parse(name string, data []byte) (*Config, error) {
	if len(data) > fileMost {
		return nil, substrat.Errorf(substrat.CodeTooLarge, "cannot read %s: it is larger than %d MiB", name, fileMost>>20)
	}
	c := &Config{Memory: Memory{FreeLeast: DefaultFreeLeast}, Idle: Idle{SuspendAfter: Duration(DefaultSuspendAfter)}}
	if err := Strict(name, data, c); err != nil {
		return nil, err
	}
	if err := c.check(name, data); err != nil {
		return nil, err
	}
	return c, nil
}
