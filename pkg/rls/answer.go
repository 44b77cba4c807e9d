package rls

import "github.com/envoy-rls/envoy-rls/pkg/descriptors"

// Code is the answer to a call or to one descriptor of it. The numbers are
// those of RateLimitResponse.Code; there is no UNKNOWN.
type Code uint8

const (
	OK        Code = 1
	OverLimit Code = 2
)

// Answer is the decision on a call.
type Answer struct {
	Code     Code
	Statuses []Status // one for each descriptor, in order
	// Limit speaks for the call, as in headers; nil if none does.
	Limit *descriptors.Limit

	ResponseHeaders []Header // for the client
	RequestHeaders  []Header // for the application, on calls let through
	// Metadata is the dynamic metadata: nil unless it is asked for. Its values
	// are string, bool, float64, nil, []any and map[string]any, all UTF-8.
	Metadata map[string]any
}

// Status is the answer to one descriptor.
type Status struct {
	Code Code
	// Limit is the current limit: nil where there is none to show.
	Limit     *descriptors.Limit
	Remaining uint32
	HasReset  bool
	// ResetSeconds is duration_until_reset: whole seconds, rounded up, since
	// Envoy cuts fractions off.
	ResetSeconds int64
}

// Header is a header to add.
type Header struct{ Name, Value string }

// Reset empties a for reuse.
func (a *Answer) Reset() {
	*a = Answer{
		Statuses:        a.Statuses[:0],
		ResponseHeaders: a.ResponseHeaders[:0],
		RequestHeaders:  a.RequestHeaders[:0],
	}
}
