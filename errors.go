package substrat

import (
	"errors"
	"fmt"
)

// Code classes an error for programs. It is stable; the message is not.
type Code string

// The codes. The table in internal/api maps them to HTTP, internal/cli to exit codes.
const (
	CodeInvalid      Code = "invalid"       // the request is malformed or breaks a rule of form
	CodeNotFound     Code = "not_found"     // no such agent, message or turn
	CodeAmbiguous    Code = "ambiguous"     // a bare name that fits several agents
	CodeConflict     Code = "conflict"      // the state of things does not allow it now
	CodeNameTaken    Code = "name_taken"    // a name must be unique among an agent's neighbours
	CodeUnreachable  Code = "unreachable"   // routing is one hop: parent, children, siblings
	CodeLimit        Code = "limit"         // a limit of the team: depth, descendants, hops
	CodeForbidden    Code = "forbidden"     // the caller may not do this
	CodeRateLimited  Code = "rate_limited"  // too many calls; the hint says when to try again
	CodeApproval     Code = "approval"      // a person has been asked first
	CodeTerminated   Code = "terminated"    // the agent has ended
	CodeUnavailable  Code = "unavailable"   // the daemon is not running, stopping, or refuses work for now
	CodeStorage      Code = "storage"       // the journal could not make it durable
	CodeTooLarge     Code = "too_large"     // a body, text or name over its limit
	CodeTimeout      Code = "timeout"       // the caller's own time limit passed; the work goes on
	CodeTurnFailed   Code = "turn_failed"   // the turn that was waited for did not complete
	CodeUnsupported  Code = "unsupported"   // not on this platform or not by this provider
	CodeInternal     Code = "internal"      // a fault in Substrat
	CodeVersion      Code = "version"       // file or peer of a newer version
	CodeCancelled    Code = "cancelled"     // the turn that asks is being stopped
	CodeNotInstalled Code = "not_installed" // a program that is needed is missing
)

// Error is an error for the person who reads it: what failed and why, and what to do about it.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Error gives the message, with the hint after it.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Errorf makes an *Error with a code and a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint returns a copy that also says what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// CodeOf gives the code of the first *Error in err's chain, CodeInternal if there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
