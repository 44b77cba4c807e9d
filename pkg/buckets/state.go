package buckets

import "math/bits"

// State is what is kept for one bucket. Which fields an algorithm uses, and
// what they mean, its file says; the zero State is a bucket never seen.
// A State is a value: the functions of this package never change one in place,
// nor the Log it points to.
type State struct {
	Count uint64 // hits in use
	Prev  uint64 // hits of the window before
	Frac  int64  // part of a hit that has flowed back, in 1/W
	Time  int64  // micros since the epoch; 0 = never charged
	Log   []Hit  // oldest first

	// Set by advance.
	now    int64 // the bucket's own now
	end    int64 // the end of the window
	mended bool  // a time in it was a fault and was read as now
}

// Hit is a charged call in a sliding_window_log.
type Hit struct {
	Time int64
	Hits uint64
}

// settle is the rule for clocks that run backwards: the bucket's now is the
// stored time if that lies ahead by at most reach; one further ahead is a fault
// and is read as now.
func settle(s State, now, reach int64) State {
	s.mended = s.Time-now > reach
	if s.mended {
		s.Time = now
	}
	s.now = max(now, s.Time)
	return s
}

// mulDiv is (a·b + add) divided by d with its remainder, exact in 128 bits.
// Quotients from maxMicros on are saturated, with remainder 0.
func mulDiv(a, b, d, add uint64) (quotient, remainder uint64) {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, add, 0)
	hi += carry
	if hi >= d {
		return maxMicros, 0
	}
	quotient, remainder = bits.Div64(hi, lo, d)
	if quotient >= maxMicros {
		return maxMicros, 0
	}
	return quotient, remainder
}

// mulDivUp is mulDiv rounded up.
func mulDivUp(a, b, d, add uint64) uint64 {
	quotient, remainder := mulDiv(a, b, d, add)
	if remainder != 0 {
		quotient++
	}
	return quotient
}

// fill adds hits to used, but not past the cap; what is past it already stays.
func fill(used, hits, limit uint64) uint64 {
	return max(used, min(used+hits, limit))
}

// drain takes hits out of used, at most what is there.
func drain(used, hits uint64) uint64 { return used - min(used, hits) }
