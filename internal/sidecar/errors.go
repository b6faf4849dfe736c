package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"toolbelt/catalog"
)

// failure is an error as it is answered.
type failure struct {
	status  int
	kind    string
	message string
}

// kinds is the one table from kinds of errors to HTTP.
func kinds() map[catalog.Kind]failure {
	return map[catalog.Kind]failure{
		catalog.Internal:    {status: http.StatusInternalServerError, kind: "internal"},
		catalog.Invalid:     {status: http.StatusBadRequest, kind: "invalid"},
		catalog.NotFound:    {status: http.StatusNotFound, kind: "not_found"},
		catalog.Conflict:    {status: http.StatusConflict, kind: "conflict"},
		catalog.Unavailable: {status: http.StatusServiceUnavailable, kind: "unavailable"},
	}
}

func failureOf(err error) failure {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return failure{http.StatusRequestEntityTooLarge, "invalid", fmt.Sprintf("the request's body is larger than %d bytes", large.Limit)}
	}
	f := kinds()[catalog.KindOf(err)]
	f.message = err.Error()
	return f
}

func writeError(w http.ResponseWriter, f failure) {
	writeJSON(w, f.status, struct {
		Error string `json:"error"`
		Kind  string `json:"kind"`
	}{f.message, f.kind})
}

// writeJSON answers. What cannot be written is a client that is gone: nobody is to be told.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
}
