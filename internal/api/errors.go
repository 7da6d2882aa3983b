package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"substrat.dev/substrat"
)

// problem is an error as RFC 9457 has it, with our code and hint.
type problem struct {
	Type   string        `json:"type"`
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Detail string        `json:"detail"`
	Code   substrat.Code `json:"code"`
	Hint   string        `json:"hint,omitempty"`
}

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// statuses maps codes to HTTP. What is not listed is 500.
var statuses = map[substrat.Code]int{
	substrat.CodeInvalid:      http.StatusBadRequest,
	substrat.CodeNotFound:     http.StatusNotFound,
	substrat.CodeAmbiguous:    http.StatusConflict,
	substrat.CodeConflict:     http.StatusConflict,
	substrat.CodeNameTaken:    http.StatusConflict,
	substrat.CodeUnreachable:  http.StatusForbidden,
	substrat.CodeLimit:        http.StatusTooManyRequests,
	substrat.CodeRateLimited:  http.StatusTooManyRequests,
	substrat.CodeApproval:     http.StatusForbidden,
	substrat.CodeForbidden:    http.StatusForbidden,
	substrat.CodeTerminated:   http.StatusGone,
	substrat.CodeUnavailable:  http.StatusServiceUnavailable,
	substrat.CodeStorage:      http.StatusInsufficientStorage,
	substrat.CodeTooLarge:     http.StatusRequestEntityTooLarge,
	substrat.CodeTimeout:      http.StatusGatewayTimeout,
	substrat.CodeUnsupported:  http.StatusNotImplemented,
	substrat.CodeVersion:      http.StatusConflict,
	substrat.CodeNotInstalled: http.StatusFailedDependency,
}

// newProblem makes a problem of an error.
func newProblem(err error) *problem {
	e := &substrat.Error{Code: substrat.CodeInternal, Message: err.Error()}
	_ = errors.As(err, &e)
	status, ok := statuses[e.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.Message, Code: e.Code, Hint: e.Hint}
}

func writeProblem(w http.ResponseWriter, err error) {
	p := newProblem(err)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// codes are the codes of what the framework refuses by itself, before a handler sees it.
var codes = map[int]substrat.Code{
	http.StatusRequestEntityTooLarge: substrat.CodeTooLarge,
	http.StatusNotFound:              substrat.CodeNotFound,
	http.StatusInternalServerError:   substrat.CodeInternal,
}

// The framework makes its own errors through this variable; there is no other way to give them our form.
func init() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		var details []string
		for _, err := range errs {
			if err != nil {
				details = append(details, err.Error())
			}
		}
		if len(details) > 0 {
			msg += ": " + strings.Join(details, "; ")
		}
		code, ok := codes[status]
		if !ok {
			code = substrat.CodeInvalid
		}
		return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: msg, Code: code}
	}
}
