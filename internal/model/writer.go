package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
)

// writer tells an answer, in one object or as a stream of events.
type writer struct {
	w      http.ResponseWriter
	model  string
	stream bool
	// cut breaks the connection after the second event.
	cut  bool
	sent int
}

// event sends one event of a stream; name may be empty.
func (w *writer) event(name string, v any) {
	data, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // what is encoded is made of strings and numbers
		}
		data = string(b)
	}
	if name != "" {
		fmt.Fprintf(w.w, "event: %s\n", name)
	}
	fmt.Fprintf(w.w, "data: %s\n\n", data)
	if f, ok := w.w.(http.Flusher); ok {
		f.Flush()
	}
	if w.sent++; w.cut && w.sent >= 2 {
		panic(http.ErrAbortHandler) // how a handler breaks its connection
	}
}

func (w *writer) whole(v any) {
	if w.cut {
		panic(http.ErrAbortHandler) // how a handler breaks its connection
	}
	object(w.w, http.StatusOK, v)
}

var made atomic.Int64

// id makes a name that no other has.
func id(prefix string) string { return fmt.Sprintf("%s_%06d", prefix, made.Add(1)) }

// What every answer says it used.
const (
	tokensIn  = 11
	tokensOut = 7
)

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(data)
}
