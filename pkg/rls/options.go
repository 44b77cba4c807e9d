package rls

import (
	"log/slog"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// Options say how a Limiter decides and answers. Store must be set; the zero
// value of everything else is a sensible default.
type Options struct {
	// Store holds the buckets. The limiter does not close it.
	Store buckets.Store
	// Local decides limits whose policy is local while Store cannot; nil fails
	// them like the policy error.
	Local buckets.Store
	// Keyer names the buckets.
	Keyer buckets.Keyer
	// Budget is the longest a call waits for Store; 0 = 100 ms. A call waits
	// less if its deadline is near: it keeps a quarter of what is left, at most
	// 5 ms, for the answer's way back.
	Budget time.Duration
	// Replicas is how many servers share the limits: under the policy local each
	// admits its share. 0 = 1.
	Replicas int

	// Reference answers as envoyproxy/ratelimit does where we chose otherwise:
	// a look is over only beyond the limit, nothing remains when over, shadow
	// statuses show their limit, overrides do not look rules up.
	Reference bool
	Shadow    bool // every limit is a shadow limit
	Quota     bool // every limit is a quota limit

	Headers  HeaderOptions
	Metadata bool // answer with dynamic metadata

	// NearLimitRatio is the share of an amount above which hits count as near
	// the limit, in 1/1,000,000; 0 = 0.8.
	NearLimitRatio uint64

	Metrics Metrics          // nil counts nothing
	Now     func() time.Time // nil = time.Now
	// Logger is told, once in ten seconds at most, that store policies decide;
	// nil = nobody is.
	Logger *slog.Logger
}

func (o Options) filled() Options {
	if o.Budget == 0 {
		o.Budget = 100 * time.Millisecond
	}
	if o.Replicas < 1 {
		o.Replicas = 1
	}
	if o.NearLimitRatio == 0 {
		o.NearLimitRatio = 800_000
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Headers = o.Headers.filled()
	return o
}
