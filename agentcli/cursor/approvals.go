package cursor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"substrat.dev/substrat/agentcli"
)

// Approval is the id under which the CLI remembers that a person approved a server: its name and the first 16 hex digits
// of the SHA-256 of {"path":…,"server":…}, compact. Any change of the definition changes it. Source: four independent
// programs that write these files.
func Approval(project string, s agentcli.MCPServer) (string, error) {
	data, err := encode(struct {
		Path   string `json:"path"`
		Server server `json:"server"`
	}{project, serverOf(s)})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(bytes.TrimSuffix(data, []byte("\n")))
	return s.Name + "-" + hex.EncodeToString(sum[:8]), nil
}

func approvalsJSON(project string, list []agentcli.MCPServer) ([]byte, error) {
	ids := []string{}
	for _, s := range list {
		id, err := Approval(project, s)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return encode(ids)
}

// Slug is the name of a workspace's directory below ~/.cursor/projects: every run of characters that are neither letters
// nor digits is a dash. Two paths may have the same.
func Slug(path string) string {
	var b strings.Builder
	dash := false
	for _, r := range path {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
			continue
		}
		dash = true
	}
	return b.String()
}
