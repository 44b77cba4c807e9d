package descriptors

import (
	"math/bits"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// coversAll tells whether whatever strict admits, idle admits, too: both are
// charged with the same calls, and only with those that both admit. It errs
// toward no. All sums are exact; what does not fit 64 bits is no, too.
//
// A refund takes from both and never more from strict than idle has had since,
// so it does not change what is compared: hits still charged.
func coversAll(idle, strict *buckets.Limit) bool {
	if idle.Align == buckets.AlignCalendar || strict.Align == buckets.AlignCalendar {
		return false // windows of unequal lengths
	}
	atOnce := instant(strict)
	switch idle.Algorithm {
	case buckets.FixedWindow:
		most, ok := admits(strict, idle.WindowMicros, idle.Align == buckets.AlignEpoch)
		return ok && most <= idle.Amount
	case buckets.SlidingWindowLog:
		most, ok := admits(strict, idle.WindowMicros, false)
		return ok && most <= idle.Amount
	case buckets.SlidingWindowCounter:
		// The estimate mixes two windows: (1−x) of the one before and what came
		// in x of this one. Together that is no more than one whole window and
		// what strict admits at once; both products are rounded up.
		most, ok := admits(strict, idle.WindowMicros, false)
		return ok && most+atOnce+most>>20+2 <= idle.Amount
	case buckets.TokenBucket, buckets.LeakyBucket, buckets.GCRA:
		return idle.RefillMicros == 0 && idle.Burst >= atOnce && refillsAsFast(idle, strict)
	}
	return false
}

// instant is the most that a limit admits in no time: around the edge of two
// windows that is twice the amount.
func instant(l *buckets.Limit) uint64 {
	switch l.Algorithm {
	case buckets.FixedWindow, buckets.SlidingWindowCounter:
		return 2 * l.Amount
	case buckets.SlidingWindowLog:
		return l.Amount
	}
	return l.Burst
}

// admits is no less than what a limit admits in a stretch of time, the end of
// it excluded; aligned says that the stretch begins at a multiple of its length
// since 1970.
func admits(l *buckets.Limit, stretchMicros int64, aligned bool) (most uint64, ok bool) {
	stretch, window := uint64(stretchMicros), uint64(l.WindowMicros)
	if l.Algorithm.HasBurst() { // a full bucket, and what flows back
		high, low := bits.Mul64(l.Amount, stretch)
		if high >= window {
			return 0, false
		}
		flow, _ := bits.Div64(high, low, window)
		return l.Burst + flow, flow <= buckets.MaxAmount
	}
	windows := (stretch-1)/window + 1
	switch fixed := l.Algorithm != buckets.SlidingWindowLog; {
	case !fixed:
	case aligned && l.Align == buckets.AlignEpoch && (stretch%window == 0 || window%stretch == 0):
	default:
		windows++ // the first and the last in part
	}
	high, most := bits.Mul64(l.Amount, windows)
	return most, high == 0 && most <= buckets.MaxAmount
}

// refillsAsFast tells whether room comes back to idle at least as fast as to
// strict. gcra is slower than it says: a hit takes whole microseconds.
func refillsAsFast(idle, strict *buckets.Limit) bool {
	hits, window := idle.Amount, uint64(idle.WindowMicros)
	if idle.Algorithm == buckets.GCRA {
		hits, window = 1, (window-1)/hits+1
	}
	fastHigh, fastLow := bits.Mul64(hits, uint64(strict.WindowMicros))
	slowHigh, slowLow := bits.Mul64(strict.Amount, window)
	return fastHigh > slowHigh || fastHigh == slowHigh && fastLow >= slowLow
}
