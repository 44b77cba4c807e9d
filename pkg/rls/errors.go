package rls

// ErrorKind sorts the ways a call can fail without a decision.
type ErrorKind uint8

const (
	// Invalid is a request that no rules can make sense of: INVALID_ARGUMENT.
	Invalid ErrorKind = iota
	// Unavailable is a call that cannot be decided now: no rules, a rejected
	// domain, or a store that fails under the policy error: UNAVAILABLE.
	Unavailable
)

// Error is why a call was not decided. Its text is for the caller: it names no
// key and no value of the request.
type Error struct {
	Kind ErrorKind
	Text string
	Err  error // the cause, for errors.As; may be nil
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Err }
