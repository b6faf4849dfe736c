package catalog

import "errors"

// Kind says what sort of failure an error is, for those who must answer to it.
type Kind uint8

// The kinds. The zero value is Internal: an error that says nothing of itself is our own fault.
const (
	Internal    Kind = iota
	Invalid          // the caller's input is wrong; asking again unchanged will not help
	NotFound         // what was named does not exist
	Conflict         // it exists already, or changed meanwhile
	Unavailable      // something that we depend on does not answer; asking again may help
)

// Error is an error with a kind and a sentence for a person.
type Error struct {
	Kind    Kind
	Message string
	Err     error // the cause, or nil
}

// NewError returns an error of this kind. err may be nil; where it is not, errors.Is and errors.As see it.
func NewError(kind Kind, message string, err error) error {
	return &Error{Kind: kind, Message: message, Err: err}
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first *Error in err's chain, and Internal where there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
