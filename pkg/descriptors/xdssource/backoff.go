package xdssource

import (
	"cmp"
	"math/rand/v2"
	"time"
)

// Backoff says how far apart attempts to open a stream are. The time is counted
// from one attempt to the next, so that a stream that lasted longer than its
// pause is followed by another one at once. Each failure doubles the pause.
type Backoff struct {
	Connect time.Duration // after the first attempt that found no server; 0 = 3 s
	Initial time.Duration // after the first stream that ended; 0 = 10 s
	Max     time.Duration // 0 = 60 s
	// Random spreads a pause p evenly over p·(1 ± Random); 0 = not at all.
	Random float64
}

func (b Backoff) complete() Backoff {
	b.Connect = cmp.Or(b.Connect, 3*time.Second)
	b.Initial = cmp.Or(b.Initial, 10*time.Second)
	b.Max = cmp.Or(b.Max, time.Minute)
	return b
}

// pause is the one after some failures in a row.
func (b Backoff) pause(connected bool, failures int) time.Duration {
	p := b.Connect
	if connected {
		p = b.Initial
	}
	for ; failures > 1 && p < b.Max; failures-- {
		p *= 2
	}
	p = min(p, b.Max)
	return time.Duration(float64(p) * (1 + b.Random*(2*rand.Float64()-1)))
}
