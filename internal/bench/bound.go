package bench

import (
	"fmt"
	"math"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// Bound is the limit that a server holds each value of the first descriptor to,
// which must be the only limit of its rule.
type Bound struct {
	Algorithm buckets.Algorithm
	Amount    uint64
	Burst     uint64 // capacity of token_bucket, leaky_bucket and gcra
	Window    time.Duration
}

// Most is how many hits one bucket may allow within a time, whatever comes, if
// it was untouched before.
func (b *Bound) Most(elapsed time.Duration) uint64 {
	windows := elapsed.Seconds() / b.Window.Seconds()
	switch b.Algorithm {
	case buckets.SlidingWindowLog:
		return b.Amount * uint64(windows+1)
	case buckets.FixedWindow, buckets.SlidingWindowCounter:
		return b.Amount * uint64(windows+2) // a window at either end is cut
	}
	return b.Burst + uint64(math.Ceil(windows*float64(b.Amount)))
}

// checkBound holds what each value was allowed against the bound, from the first
// call to the last answer.
func (r *Result) checkBound(c *Config, allowedOf func(n int) uint64, elapsed time.Duration) {
	if c.Bound == nil {
		return
	}
	most, worst := c.Bound.Most(elapsed), uint64(0)
	for n := range c.Keys {
		allowed := allowedOf(n)
		worst = max(worst, allowed)
		if allowed > most {
			r.Excess = append(r.Excess, fmt.Sprintf("value u%010d was allowed %d hits, the limit's bound for %v is %d", n, allowed, elapsed.Round(time.Millisecond), most))
		}
	}
	r.MostAllowed, r.BoundHits = worst, most
}
