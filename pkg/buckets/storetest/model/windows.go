package model

import "github.com/envoy-rls/envoy-rls/pkg/buckets"

// fixed counts the hits of one window.
type fixed struct {
	limit
	count, start num
	clock, end   num
	fault        bool
}

func (b fixed) at(now num) bucket {
	b.fault = isPositive(b.count) && isFault(b.start, now, b.W)
	stored, clock := settled(b.start, now, b.W)
	if isZero(b.count) {
		stored, clock = now, now // nothing is stored that a time could belong to
	}
	b.clock = clock
	start := b.windowOf(stored, clock)
	if isPositive(b.count) && notAbove(b.start, clock) && less(start, b.start) {
		// A window never gives way to one before it: the bounds are of a server
		// whose clock is far behind.
		b.end = add(b.start, b.W)
		return b
	}
	if !b.fault && less(b.start, start) {
		b.count = zero
	}
	b.start = start
	b.end = add(start, b.length(clock))
	return b
}

// windowOf is where the window that holds clock begins.
func (b fixed) windowOf(stored, clock num) num {
	switch b.align {
	case buckets.AlignFirstHit:
		if isPositive(b.count) && less(sub(clock, stored), b.W) {
			return stored
		}
		return clock
	case buckets.AlignCalendar:
		return of(b.bounds[b.calendar(clock)])
	}
	return floorTo(clock, b.W)
}

func (b fixed) length(clock num) num {
	if b.align != buckets.AlignCalendar {
		return b.W
	}
	i := b.calendar(clock)
	return sub(of(b.bounds[i+1]), of(b.bounds[i]))
}

// calendar is which of the three windows holds clock.
func (b fixed) calendar(clock num) int {
	i := 0
	for i < 2 && notAbove(of(b.bounds[i+1]), clock) {
		i++
	}
	return i
}

func (b fixed) mended() bool    { return b.fault }
func (b fixed) now() num        { return b.clock }
func (b fixed) inUse() num      { return b.count }
func (b fixed) windowEnds() num { return add(b.clock, b.left()) }

// left is the rest of the window: never nothing, also where a calendar's bounds
// end before now.
func (b fixed) left() num { return larger(one, sub(b.end, b.clock)) }

func (b fixed) charged(hits num) bucket {
	b.count = filled(b.count, hits, b.most)
	return b
}

func (b fixed) refunded(hits num) bucket {
	b.count = without(b.count, hits)
	return b
}

func (b fixed) givenBack(hits, chargedAt num) bucket {
	if less(chargedAt, b.start) || notAbove(b.end, chargedAt) {
		return b
	}
	return b.refunded(hits)
}

func (b fixed) fields() []field { return []field{{b.count, 8}, {b.start, 8}} }

// counter counts the hits of a window and of the one before.
type counter struct {
	limit
	count, prev, start num
	clock              num
	fault              bool
}

func (b counter) at(now num) bucket {
	b.fault = isFault(b.start, now, b.W)
	_, clock := settled(b.start, now, b.W)
	b.clock = clock
	start := floorTo(clock, b.W)
	switch {
	case b.fault: // as of now
	case equal(b.start, start):
	case equal(add(b.start, b.W), start):
		b.prev, b.count = b.count, zero
	default:
		b.prev, b.count = zero, zero
	}
	b.start = start
	return b
}

// old is what the window before still weighs, in steps of 1/2^20 of it.
func (b counter) old() num {
	const scale = 1 << 20
	left := sub(b.windowEnds(), b.clock)
	k := ceilDiv(mul(left, of(scale)), b.W)
	return ceilDiv(mul(b.prev, k), of(scale))
}

func (b counter) mended() bool    { return b.fault }
func (b counter) now() num        { return b.clock }
func (b counter) inUse() num      { return add(b.old(), b.count) }
func (b counter) windowEnds() num { return add(b.start, b.W) }

func (b counter) charged(hits num) bucket {
	b.count = filled(b.count, hits, without(b.most, b.old()))
	return b
}

func (b counter) refunded(hits num) bucket {
	current := smaller(hits, b.count)
	b.count = sub(b.count, current)
	b.prev = without(b.prev, sub(hits, current))
	return b
}

func (b counter) givenBack(hits, chargedAt num) bucket {
	switch floorTo(chargedAt, b.W).Cmp(b.start) {
	case 0:
		b.count = without(b.count, hits)
	case -1:
		if equal(add(floorTo(chargedAt, b.W), b.W), b.start) {
			b.prev = without(b.prev, hits)
		}
	}
	return b
}

func (b counter) fields() []field { return []field{{b.count, 8}, {b.prev, 8}, {b.start, 8}} }
