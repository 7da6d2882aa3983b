package headless

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"

	"substrat.dev/substrat/agentcli"
)

// ours is the directory of a home in which generated files are, so that none of the user's is written over.
const ours = ".config/substrat"

// Generated puts a file of ours into the home and gives its path as the process sees it. In the user's own home, which
// several runs share at once, its name tells its content.
func Generated(cmd *agentcli.Command, req agentcli.Request, name, ext string, data []byte) string {
	home := req.Home
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	if req.Bare {
		sum := sha256.Sum256(data)
		name += "-" + hex.EncodeToString(sum[:6])
	}
	at := path.Join(ours, name+"."+ext)
	cmd.Files = append(cmd.Files, agentcli.File{Root: agentcli.InHome, Path: at, Data: data})
	return path.Join(home, at)
}
