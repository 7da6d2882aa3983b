package tool

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"regexp"

	"substrat.dev/substrat"
)

// preambleVersion is the one this program speaks.
const preambleVersion = 1

// nonceForm is what a relay may call itself. It becomes part of a key in the journal.
var nonceForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// preamble is the first line of a relay: {"substrat":{"v":1,"relay":"<nonce>","token":"<turn token>"}}.
type preamble struct {
	Substrat *struct {
		V     int    `json:"v"`
		Relay string `json:"relay"`
		Token string `json:"token"`
		// Agent is who the caller believes to be. Identity is the socket: another name is refused, the right one proves nothing.
		Agent string `json:"agent"`
		// Serve names the MCP server that the caller is to become: it is told how that is started, and no more.
		Serve string `json:"serve"`
	} `json:"substrat"`
}

// admit looks at a connection's first line. A relay says its nonce, and the token where the caller has one. Without a
// token (an operator's connection) the preamble may be left out: then the line is a message already, and used is false.
func admit(line []byte, caller Caller) (nonce string, used bool, err error) {
	var p preamble
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) || json.Unmarshal(line, &p) != nil || p.Substrat == nil {
		if caller.Token != "" {
			return "", false, substrat.Errorf(substrat.CodeForbidden, "this socket takes a relay only, which says first who it is")
		}
		return rand.Text(), false, nil
	}
	switch s := p.Substrat; {
	case caller.Token != "" && subtle.ConstantTimeCompare([]byte(s.Token), []byte(caller.Token)) != 1:
		return "", true, substrat.Errorf(substrat.CodeForbidden, "this is not the token of the turn")
	case s.Agent != "" && caller.Token != "" && s.Agent != caller.Agent:
		return "", true, substrat.Errorf(substrat.CodeForbidden, "this socket is %s's, and the relay names %.80q", caller.Name, s.Agent)
	case s.V != preambleVersion:
		return "", true, substrat.Errorf(substrat.CodeVersion, "the relay speaks version %d, the daemon %d", s.V, preambleVersion)
	case !nonceForm.MatchString(s.Relay):
		return "", true, substrat.Errorf(substrat.CodeInvalid, "the relay does not name itself")
	default:
		return s.Relay, true, nil
	}
}
