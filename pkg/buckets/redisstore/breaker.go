package redisstore

import "sync/atomic"

// breakAfter failures in a row open the breaker.
const breakAfter = 5

// breaker says whether it is worth asking Redis. It is safe for concurrent use.
type breaker struct {
	failures atomic.Int32
	isOpen   atomic.Bool
	opened   chan struct{} // one token when it opens
	opens    atomic.Uint64
}

func newBreaker() *breaker { return &breaker{opened: make(chan struct{}, 1)} }

// failure counts one more and is true if that opened the breaker.
func (b *breaker) failure() bool {
	if b.failures.Add(1) < breakAfter || !b.isOpen.CompareAndSwap(false, true) {
		return false
	}
	b.opens.Add(1)
	select {
	case b.opened <- struct{}{}:
	default:
	}
	return true
}

// success closes it, and is true if it was open.
func (b *breaker) success() bool {
	if b.failures.Load() != 0 {
		b.failures.Store(0)
	}
	return b.isOpen.Load() && b.isOpen.CompareAndSwap(true, false)
}
