package model

// log keeps each charged call.
type log struct {
	limit
	calls []call // oldest first
	clock num
	fault bool
}

type call struct{ time, hits num }

func (b log) at(now num) bucket {
	b.clock, b.fault = now, false
	for _, c := range b.calls {
		if notAbove(sub(c.time, now), b.W) {
			b.clock = larger(b.clock, c.time)
		}
	}
	var kept []call
	for _, c := range b.calls {
		if isFault(c.time, now, b.W) {
			c.time, b.fault = b.clock, true
		}
		if less(sub(b.clock, b.W), c.time) {
			kept = append(kept, c)
		}
	}
	b.calls = kept
	return b
}

func (b log) mended() bool { return b.fault }
func (b log) now() num     { return b.clock }

func (b log) inUse() num {
	sum := zero
	for _, c := range b.calls {
		sum = add(sum, c.hits)
	}
	return sum
}

func (b log) windowEnds() num {
	if len(b.calls) == 0 {
		return b.clock
	}
	return add(b.calls[0].time, b.W)
}

func (b log) charged(hits num) bucket {
	recorded := sub(filled(b.inUse(), hits, b.most), b.inUse())
	if isPositive(recorded) {
		b.calls = append(b.copied(), call{b.clock, recorded})
	}
	return b
}

func (b log) refunded(hits num) bucket {
	calls := b.copied()
	for len(calls) > 0 && isPositive(hits) {
		newest := &calls[len(calls)-1]
		taken := smaller(hits, newest.hits)
		hits, newest.hits = sub(hits, taken), sub(newest.hits, taken)
		if isZero(newest.hits) {
			calls = calls[:len(calls)-1]
		}
	}
	b.calls = calls
	return b
}

func (b log) givenBack(hits, chargedAt num) bucket {
	for i := len(b.calls) - 1; i >= 0; i-- {
		if equal(b.calls[i].time, chargedAt) && equal(b.calls[i].hits, hits) {
			b.calls = append(b.copied()[:i], b.calls[i+1:]...)
			break
		}
	}
	return b
}

func (b log) copied() []call { return append([]call(nil), b.calls...) }

func (b log) fields() []field {
	fields := []field{{b.inUse(), 8}}
	for _, c := range b.calls {
		fields = append(fields, field{c.time, 8}, field{c.hits, 4})
	}
	return fields
}
