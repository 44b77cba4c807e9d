package buckets

// sliding_window_counter: two fixed windows, the one before weighted by how
// much of it the sliding window still covers. Two numbers a bucket whatever the
// amount; the estimate assumes that the hits of the window before were spread
// evenly, and is rounded up.
//
// State: Count hits in the window that began at Time, Prev in the one before.
// With e elapsed of the window, k = ceil((W−e)·2^20/W) and the estimate is
// ceil(Prev·k/2^20) + Count.
//
// Lua twin: lua/sliding_window_counter.lua.
var slidingWindowCounter = spec{
	name:         "sliding_window_counter",
	prepare:      func(*Limit) error { return nil },
	advance:      counterAdvance,
	used:         func(s State, l *Limit) uint64 { return counterOld(s, l) + s.Count },
	charge:       counterCharge,
	refund:       counterRefund,
	giveBack:     counterGiveBack,
	freshIn:      counterFreshIn,
	resetAllowed: func(s State, _ *Limit) int64 { return s.end - s.now },
	roomIn:       counterRoomIn,
}

const counterScale = 1 << 20

func counterAdvance(s State, l *Limit, now int64, _ *Bounds) State {
	w := l.WindowMicros
	start := now - now%w
	s.mended = s.Time-now > w
	switch {
	case s.mended || s.Time == start: // what is there counts as of now
	case s.Time > now: // the clock ran back
		now, start = s.Time, s.Time-s.Time%w
	case s.Time == start-w:
		s.Prev, s.Count = s.Count, 0
	default:
		s.Prev, s.Count = 0, 0
	}
	s.Time, s.now, s.end = start, now, start+w
	return s
}

// counterOld is what the window before still weighs.
func counterOld(s State, l *Limit) uint64 {
	k := mulDivUp(uint64(s.end-s.now), counterScale, uint64(l.WindowMicros), 0)
	return mulDivUp(s.Prev, k, counterScale, 0)
}

func counterCharge(s State, l *Limit, hits uint64) State {
	s.Count = fill(s.Count, hits, drain(l.maxUsed(), counterOld(s, l)))
	return s
}

func counterRefund(s State, _ *Limit, hits uint64) State {
	fromCurrent := min(s.Count, hits)
	s.Count -= fromCurrent
	s.Prev = drain(s.Prev, hits-fromCurrent)
	return s
}

func counterGiveBack(s State, l *Limit, hits uint64, atMicros int64) State {
	switch {
	case atMicros >= s.Time && atMicros < s.end:
		s.Count = drain(s.Count, hits)
	case atMicros < s.Time && atMicros >= s.Time-l.WindowMicros:
		s.Prev = drain(s.Prev, hits)
	}
	return s
}

func counterFreshIn(s State, l *Limit) int64 {
	switch {
	case s.Count > 0:
		return s.end + l.WindowMicros - s.now
	case s.Prev > 0:
		return s.end - s.now
	}
	return 0
}

// counterRoomIn is the first moment at which the estimate leaves room: in this
// window, if what it has itself leaves room once the one before weighs less,
// else in the next, where this window is the one before.
func counterRoomIn(s State, l *Limit, hits uint64) int64 {
	if s.Count+hits <= l.Amount {
		return max(0, s.Time+counterFades(s.Prev, l.Amount-hits-s.Count, l)-s.now)
	}
	return s.end + counterFades(s.Count, l.Amount-hits, l) - s.now
}

// counterFades is how far into a window one must be until prev hits of the one
// before weigh at most most: the least e with ceil(prev·k/2^20) ≤ most.
func counterFades(prev, most uint64, l *Limit) int64 {
	if prev <= most {
		return 0
	}
	k, _ := mulDiv(most, counterScale, prev, 0)
	covered, _ := mulDiv(k, uint64(l.WindowMicros), counterScale, 0)
	return l.WindowMicros - int64(covered)
}
