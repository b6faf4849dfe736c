package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"toolbelt/catalog"
)

// maxBodyBytes bounds every request's body.
const maxBodyBytes = 4 << 20

// readJSON reads the request's body, one JSON object with no field that into lacks. An error is of kind Invalid
// and says which field is wrong; an *http.MaxBytesError is among its causes where the body is too large.
func readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return invalidJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		if err != nil {
			return invalidJSON(err)
		}
		return catalog.NewError(catalog.Invalid, "reading the request: there is more than one JSON value", nil)
	}
	return nil
}

func invalidJSON(err error) error {
	var wrongType *json.UnmarshalTypeError
	var large *http.MaxBytesError
	what := strings.TrimPrefix(err.Error(), "json: ")
	switch {
	case errors.As(err, &large):
		return catalog.NewError(catalog.Invalid, "reading the request", large)
	case errors.Is(err, io.EOF):
		what = "the body is empty; a JSON object is wanted"
	case errors.Is(err, io.ErrUnexpectedEOF):
		what = "the JSON ends too early"
	case errors.As(err, &wrongType) && wrongType.Field == "":
		what = fmt.Sprintf("a JSON object is wanted, not %s", wrongType.Value)
	case errors.As(err, &wrongType):
		what = fmt.Sprintf("%q must be %s, not %s", wrongType.Field, jsonName(wrongType.Type), wrongType.Value)
	}
	return catalog.NewError(catalog.Invalid, "reading the request: "+what, nil)
}

// jsonName is what a Go type is in JSON.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a number"
}
