package model

import "github.com/envoy-rls/envoy-rls/pkg/buckets"

// bucket is a state under a limit at a moment. All methods return new buckets.
type bucket interface {
	// at is the bucket as of now.
	at(now num) bucket
	// mended tells that a stored time was too far ahead and was read as now.
	// Such a bucket is written whatever the call does, or it would never age.
	mended() bool
	// now is the bucket's own time: never before what is stored.
	now() num
	// inUse is how many hits are in the way, rounded up.
	inUse() num
	charged(hits num) bucket
	refunded(hits num) bucket
	givenBack(hits, chargedAt num) bucket
	// windowEnds is nil for buckets without windows. For the log it is when
	// the oldest call leaves.
	windowEnds() num
	// fields are the numbers of layout 1, in order, and their widths in bytes.
	fields() []field
}

type field struct {
	value num
	bytes int
}

// limit is a limit in big numbers, by the names of the arithmetic.
type limit struct {
	L, W, B  num
	capacity num
	most     num // hits that charges may fill a bucket to
	refill   num // nil = continuous
	align    buckets.Align
	bounds   *buckets.Bounds
}

func newLimit(item *buckets.Item) limit {
	from := item.Limit
	l := limit{
		L: ofCount(from.Amount), W: of(from.WindowMicros), B: ofCount(from.Burst),
		align: from.Align, bounds: item.Bounds,
	}
	l.capacity = l.L
	switch from.Algorithm {
	case buckets.TokenBucket, buckets.LeakyBucket, buckets.GCRA:
		l.capacity = l.B
	}
	l.most = mul(of(2), l.capacity)
	if from.Unbounded {
		l.most = saturated
	}
	if from.RefillMicros != 0 {
		l.refill = of(from.RefillMicros)
	}
	return l
}

// fresh is the bucket that nobody has charged yet.
func fresh(a buckets.Algorithm, l limit) bucket {
	switch a {
	case buckets.FixedWindow:
		return fixed{limit: l, count: zero, start: zero}
	case buckets.SlidingWindowCounter:
		return counter{limit: l, count: zero, prev: zero, start: zero}
	case buckets.SlidingWindowLog:
		return log{limit: l}
	case buckets.GCRA:
		return gcra{limit: l, tat: zero}
	case buckets.TokenBucket:
		if l.refill != nil {
			return steps{limit: l, used: zero, stepped: zero}
		}
	}
	return flow{limit: l, level: zero, time: zero}
}

// under is the same state under another limit: an amount may change, and the
// three windows of a calendar do.
func under(b bucket, l limit) bucket {
	switch b := b.(type) {
	case fixed:
		b.limit = l
		return b
	case counter:
		b.limit = l
		return b
	case log:
		b.limit = l
		return b
	case gcra:
		b.limit = l
		return b
	case steps:
		b.limit = l
		return b
	case flow:
		b.limit = l
		return b
	}
	return b
}

// fits tells whether hits have room.
func fits(b bucket, hits, capacity num) bool {
	return notAbove(add(b.inUse(), hits), capacity)
}

// untilEmpty is the wait until nothing is in use: the bucket is as new.
func untilEmpty(b bucket, guess num) num {
	if f, ok := b.(fixed); ok && isPositive(f.count) {
		return f.left()
	}
	return first(guess, func(wait num) bool { return isZero(b.at(add(b.now(), wait)).inUse()) })
}

// untilRoom is the wait until hits have room.
func untilRoom(b bucket, hits, capacity, guess num) num {
	if f, ok := b.(fixed); ok {
		return f.left()
	}
	return first(guess, func(wait num) bool { return fits(b.at(add(b.now(), wait)), hits, capacity) })
}

// isFault tells whether a stored time lies ahead of now by more than reach.
func isFault(stored, now, reach num) bool { return less(reach, sub(stored, now)) }

// settled is the rule for clocks that run back: a stored time ahead of now by
// at most reach is the bucket's now, one further ahead is read as now.
func settled(stored, now, reach num) (readAs, clock num) {
	switch {
	case notAbove(stored, now):
		return stored, now
	case isFault(stored, now, reach):
		return now, now
	}
	return stored, stored
}
