package buckets

// Buckets that drain all the time: token_bucket and leaky_bucket share this
// arithmetic and differ in what a burst is by default and in how it is told.
//
// State: Count hits are in use, Frac (in 1/W of a hit, 0 ≤ Frac < W) of a
// further hit has already flowed back, both as of Time. L hits flow back in W.

// flow lets hits flow back until now. An empty bucket is a fresh one: what
// would flow back further is lost.
func flow(s State, l *Limit, now int64, _ *Bounds) State {
	s = settle(s, now, l.WindowMicros)
	s.Frac = min(s.Frac, l.WindowMicros-1)
	if s.now > s.Time {
		back, rest := mulDiv(uint64(s.now-s.Time), l.Amount, uint64(l.WindowMicros), uint64(s.Frac))
		s.Frac = int64(rest)
		s.Count = drain(s.Count, back)
		s.Time = s.now
	}
	if s.Count == 0 {
		s.Frac = 0
	}
	return s
}

func flowUsed(s State, _ *Limit) uint64 { return s.Count }

func flowCharge(s State, l *Limit, hits uint64) State {
	s.Count = fill(s.Count, hits, l.maxUsed())
	return s
}

func flowRefund(s State, _ *Limit, hits uint64) State {
	s.Count = drain(s.Count, hits)
	if s.Count == 0 {
		s.Frac = 0
	}
	return s
}

// flowGiveBack refunds less what may have flowed back since the charge: that
// much of it is in the bucket no more.
func flowGiveBack(s State, l *Limit, hits uint64, atMicros int64) State {
	since := uint64(max(0, s.now-atMicros))
	return flowRefund(s, l, drain(hits, mulDivUp(since, l.Amount, uint64(l.WindowMicros), 0)))
}

func flowFreshIn(s State, l *Limit) int64 { return flowTime(s, l, s.Count) }

func flowRoomIn(s State, l *Limit, hits uint64) int64 {
	return flowTime(s, l, s.Count+hits-l.Burst)
}

// flowTime is how long it takes until hits have flowed back, rounded up:
// (hits·W − Frac) / L.
func flowTime(s State, l *Limit, hits uint64) int64 {
	if hits == 0 {
		return 0
	}
	w := uint64(l.WindowMicros)
	return int64(mulDivUp(w, hits-1, l.Amount, w-uint64(s.Frac)))
}
