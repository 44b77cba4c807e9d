package limiter

import (
	"context"
	"net/http"
)

// Key gives what a request is counted by. If ok is false, the limits of the key do
// not concern the request.
type Key struct {
	Name  string
	Value func(r *http.Request) (value string, ok bool)
}

// Middleware puts a limiter before a handler.
type Middleware struct {
	Limiter *Limiter
	// Keys are what requests are counted by, all at once.
	Keys []Key
	// Cost is what a request takes; nil = 1.
	Cost func(r *http.Request) uint64
	// FailClosed answers 503 while the store does not answer; else requests pass.
	FailClosed bool
	// Denied answers what is denied, once the headers are set; nil = 429 and a line.
	Denied http.Handler
}

// Wrap returns a handler that asks the limiter before it asks next.
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	refuse := m.Denied
	if refuse == nil {
		refuse = http.HandlerFunc(tooMany)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		decision, err := m.decide(r)
		switch {
		case err != nil && m.FailClosed:
			http.Error(w, "cannot tell whether this is too much: try again", http.StatusServiceUnavailable)
			return
		case err != nil:
			next.ServeHTTP(w, r)
			return
		}
		for _, h := range decision.Headers {
			w.Header().Set(h.Name, h.Value)
		}
		if !decision.Allowed {
			refuse.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (m *Middleware) decide(r *http.Request) (Decision, error) {
	var entries []Entry
	for _, k := range m.Keys {
		if value, ok := k.Value(r); ok {
			entries = append(entries, Entry{Key: k.Name, Value: value})
		}
	}
	cost := uint64(1)
	if m.Cost != nil {
		cost = m.Cost(r)
	}
	// A client that leaves does not spoil the count: the decision goes on, within
	// the limiter's budget.
	return m.Limiter.Decide(context.WithoutCancel(r.Context()), cost, entries...)
}

func tooMany(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "too many requests: see Retry-After", http.StatusTooManyRequests)
}
