package model

// flow is a bucket that drains all the time: token_bucket and leaky_bucket.
// Its level is in hits times W, so that what flows back in a microsecond, L,
// is a whole number.
type flow struct {
	limit
	level num
	time  num
	clock num
	fault bool
}

func (b flow) at(now num) bucket {
	b.fault = isFault(b.time, now, b.W)
	b.time, b.clock = settled(b.time, now, b.W)
	b.level = without(b.level, mul(sub(b.clock, b.time), b.L))
	b.time = b.clock
	return b
}

func (b flow) mended() bool    { return b.fault }
func (b flow) now() num        { return b.clock }
func (b flow) inUse() num      { return ceilDiv(b.level, b.W) }
func (b flow) windowEnds() num { return nil }

// charged adds whole hits, as many as the bucket may hold.
func (b flow) charged(hits num) bucket {
	recorded := sub(filled(b.inUse(), hits, b.most), b.inUse())
	b.level = add(b.level, mul(recorded, b.W))
	return b
}

func (b flow) refunded(hits num) bucket {
	b.level = without(b.level, mul(hits, b.W))
	return b
}

func (b flow) givenBack(hits, chargedAt num) bucket {
	flowed := ceilDiv(mul(without(b.clock, chargedAt), b.L), b.W)
	return b.refunded(without(hits, flowed))
}

func (b flow) fields() []field {
	count := b.inUse()
	fraction := sub(mul(count, b.W), b.level)
	return []field{{count, 8}, {fraction, 8}, {b.time, 8}}
}

// steps is a token_bucket with refill_interval: whole steps of L·interval/W
// hits flow back, an interval apart, from the charge that found it full.
type steps struct {
	limit
	used    num
	stepped num
	clock   num
	fault   bool
}

func (b steps) size() num { return floorDiv(mul(b.L, b.refill), b.W) }

func (b steps) at(now num) bucket {
	b.fault = isFault(b.stepped, now, b.W)
	b.stepped, b.clock = settled(b.stepped, now, b.W)
	n := floorDiv(sub(b.clock, b.stepped), b.refill)
	b.used = without(b.used, mul(n, b.size()))
	b.stepped = add(b.stepped, mul(n, b.refill))
	if isZero(b.used) {
		b.stepped = b.clock
	}
	return b
}

func (b steps) mended() bool    { return b.fault }
func (b steps) now() num        { return b.clock }
func (b steps) inUse() num      { return b.used }
func (b steps) windowEnds() num { return nil }

func (b steps) charged(hits num) bucket {
	b.used = filled(b.used, hits, b.most)
	return b
}

func (b steps) refunded(hits num) bucket {
	b.used = without(b.used, hits)
	return b
}

func (b steps) givenBack(hits, chargedAt num) bucket {
	n := ceilDiv(without(b.clock, chargedAt), b.refill)
	return b.refunded(without(hits, mul(n, b.size())))
}

func (b steps) fields() []field { return []field{{b.used, 8}, {zero, 8}, {b.stepped, 8}} }

// gcra keeps the moment at which the bucket is as new.
type gcra struct {
	limit
	tat   num
	clock num
	fault bool
}

func (b gcra) emission() num { return ceilDiv(b.W, b.L) }

func (b gcra) at(now num) bucket {
	reach := add(b.W, mul(of(2), mul(b.B, b.emission())))
	if equal(b.most, saturated) {
		reach = saturated
	}
	b.clock, b.fault = now, isFault(b.tat, now, reach)
	if less(b.tat, now) || b.fault {
		b.tat = now
	}
	return b
}

func (b gcra) mended() bool    { return b.fault }
func (b gcra) now() num        { return b.clock }
func (b gcra) ahead() num      { return sub(b.tat, b.clock) }
func (b gcra) inUse() num      { return ceilDiv(b.ahead(), b.emission()) }
func (b gcra) windowEnds() num { return nil }

func (b gcra) charged(hits num) bucket {
	most := smaller(mul(b.most, b.emission()), saturated)
	b.tat = add(b.clock, filled(b.ahead(), mul(hits, b.emission()), most))
	return b
}

func (b gcra) refunded(hits num) bucket {
	b.tat = add(b.clock, without(b.ahead(), mul(hits, b.emission())))
	return b
}

func (b gcra) givenBack(hits, chargedAt num) bucket {
	back := without(mul(hits, b.emission()), without(b.clock, chargedAt))
	b.tat = add(b.clock, without(b.ahead(), back))
	return b
}

func (b gcra) fields() []field { return []field{{b.tat, 8}} }
