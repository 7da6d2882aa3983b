package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// config is where the program keeps its files, as recorded of 2026.09.
type config struct {
	root     string // cli-config.json, mcp.json, chats
	projects string
}

func newConfig(env environ, dataDir string) (*config, error) {
	root := env["CURSOR_CONFIG_DIR"]
	if root == "" && env["XDG_CONFIG_HOME"] != "" {
		root = filepath.Join(env["XDG_CONFIG_HOME"], "cursor")
	}
	if root == "" && env["HOME"] != "" {
		root = filepath.Join(env["HOME"], ".cursor")
	}
	if root == "" {
		return nil, refuse("Error: cannot find the configuration: HOME is not set")
	}
	if dataDir == "" {
		dataDir = env["CURSOR_DATA_DIR"]
	}
	if dataDir == "" {
		dataDir = root
	}
	return &config{root: root, projects: filepath.Join(dataDir, "projects")}, nil
}

func (c *config) project(w workspace) string { return filepath.Join(c.projects, w.slug()) }

func (c *config) chats(w workspace) string { return filepath.Join(c.root, "chats", w.hash()) }

// permissions are the rules of cli-config.json and of a project's cli.json: Shell(ls), Mcp(server:tool).
type permissions struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

type selectedModel struct {
	ModelID     string `json:"modelId"`
	DisplayName string `json:"displayName"`
}

// settings is what the simulator reads of cli-config.json; other keys are kept as they are.
type settings struct {
	Permissions *permissions
	Model       *selectedModel
	raw         map[string]json.RawMessage
}

func (c *config) settingsFile() string { return filepath.Join(c.root, "cli-config.json") }

func (c *config) load() (*settings, error) {
	s := &settings{raw: map[string]json.RawMessage{}}
	data, err := os.ReadFile(c.settingsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	if err := json.Unmarshal(data, &s.raw); err != nil {
		return nil, fmt.Errorf("cannot parse %s: %w", c.settingsFile(), err)
	}
	// A key of another shape than expected counts as absent: the real program has versions we do not know.
	_ = json.Unmarshal(s.raw["permissions"], &s.Permissions)
	_ = json.Unmarshal(s.raw["model"], &s.Model)
	return s, nil
}

// save stores the choice of a model, and makes the file where there is none. It writes nothing that is there already.
func (c *config) save(s *settings, chosen *selectedModel) error {
	fresh := len(s.raw) == 0
	if !fresh && (chosen == nil || s.Model != nil && *s.Model == *chosen) {
		return nil
	}
	if fresh {
		s.raw["version"] = json.RawMessage("1")
		s.raw["editor"] = json.RawMessage(`{"vimMode":false}`)
		s.raw["permissions"] = json.RawMessage(`{"allow":["Shell(ls)"],"deny":[]}`)
	}
	if chosen != nil {
		s.raw["model"], _ = json.Marshal(chosen)
	}
	data, err := json.MarshalIndent(s.raw, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode the configuration: %w", err)
	}
	return writeFile(c.settingsFile(), append(data, '\n'))
}

// writeFile replaces a file through a temporary one beside it, private like all that is kept here. The temporary name
// is our own, unlike the real program's, whose processes trip over each other's file when they start together; the fault
// config_race plays that.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot make the configuration directory: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp*")
	if err != nil {
		return fmt.Errorf("cannot write the configuration: %w", err)
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot replace %s: %w", path, err), os.Remove(tmp.Name()))
	}
	return nil
}

func (c *config) trustFile(w workspace) string {
	return filepath.Join(c.project(w), ".workspace-trusted")
}

// trusted goes by the file's existence: empty ones have been seen.
func (c *config) trusted(w workspace) bool {
	_, err := os.Stat(c.trustFile(w))
	return err == nil
}

func (c *config) trust(w workspace) error {
	if c.trusted(w) {
		return nil
	}
	mark := appendJSON(nil, object{
		{"trustedAt", time.Now().UTC().Format("2006-01-02T15:04:05.000Z")},
		{"workspacePath", string(w)},
		{"trustMethod", "cli-flag"},
	})
	return writeFile(c.trustFile(w), mark)
}
