package buckets

import "errors"

// fixed_window: a counter that starts anew with each window. Simple and cheap;
// around the edge of two windows it admits up to 2·L.
//
// State: Count hits in the window that began at Time. Windows begin at
// multiples of W since 1970 (epoch), at the first charged hit (first_hit), or
// with the days, weeks, months or years of a time zone (calendar), whose
// boundaries come with the call. The stored start is compared with the window
// that holds now; a store's own expiry never decides anything.
//
// Lua twin: lua/fixed_window.lua.
var fixedWindow = spec{
	name:     "fixed_window",
	atOnce:   true,
	prepare:  prepareFixedWindow,
	advance:  fixedAdvance,
	used:     func(s State, _ *Limit) uint64 { return s.Count },
	charge:   fixedCharge,
	refund:   fixedRefund,
	giveBack: fixedGiveBack,
	freshIn: func(s State, l *Limit) int64 {
		if s.Count == 0 {
			return 0
		}
		return fixedReset(s, l)
	},
	resetAllowed: fixedReset,
	fullIn:       fixedReset,
	roomIn:       func(s State, l *Limit, _ uint64) int64 { return fixedReset(s, l) },
}

func prepareFixedWindow(l *Limit) error {
	if l.Align > AlignCalendar {
		return errors.New("unknown alignment")
	}
	return nil
}

func fixedAdvance(s State, l *Limit, now int64, b *Bounds) State {
	w := l.WindowMicros
	start := now
	s.mended = s.Count > 0 && s.Time-now > w
	if s.Count > 0 && s.Time > now && !s.mended {
		now = s.Time
	}
	switch l.Align {
	case AlignEpoch:
		start = now - now%w
		s.end = start + w
	case AlignCalendar:
		start, s.end = b.around(now)
		if s.Count > 0 && start < s.Time && s.Time <= now {
			// The server's clock is windows behind. A bucket's time never runs
			// backwards, or two servers would undo each other's windows.
			start, s.end = s.Time, s.Time+w
		}
	case AlignFirstHit:
		start = now
		if s.Count > 0 && s.Time <= now && now-s.Time < w {
			start = s.Time
		}
		s.end = start + w
	}
	s.now = now
	if s.Time != start && s.Time <= now {
		s.Count = 0 // of a window that is over
	}
	s.Time = start
	return s
}

// fixedReset is the rest of the window, also where a calendar's windows do not
// reach the store's time because the two clocks are far apart.
func fixedReset(s State, _ *Limit) int64 { return max(1, s.end-s.now) }

func fixedCharge(s State, l *Limit, hits uint64) State {
	s.Count = fill(s.Count, hits, l.maxUsed())
	return s
}

func fixedRefund(s State, _ *Limit, hits uint64) State {
	s.Count = drain(s.Count, hits)
	return s
}

func fixedGiveBack(s State, l *Limit, hits uint64, atMicros int64) State {
	if atMicros < s.Time || atMicros >= s.end {
		return s
	}
	return fixedRefund(s, l, hits)
}
