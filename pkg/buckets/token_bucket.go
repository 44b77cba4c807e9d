package buckets

import (
	"errors"
	"fmt"
)

// token_bucket: a bucket of B tokens; a hit takes one, and L tokens a window
// flow back, continuously and exactly (see flow.go). It keeps the hits in use
// rather than the tokens left, so that a changed amount applies at once and
// keeps what was used.
//
// With RefillMicros tokens come back in whole steps of L·interval/W, interval
// apart, counted from the charge that found the bucket full. Then Frac is
// always 0 and Time is the last step.
//
// Lua twin: lua/token_bucket.lua.
var tokenBucket = spec{
	name:     "token_bucket",
	hasBurst: true,
	prepare:  prepareTokenBucket,
	advance:  tokenAdvance,
	used:     flowUsed,
	charge:   flowCharge,
	refund:   flowRefund,
	giveBack: tokenGiveBack,
	freshIn:  func(s State, l *Limit) int64 { return tokenTime(s, l, s.Count) },
	roomIn: func(s State, l *Limit, hits uint64) int64 {
		return tokenTime(s, l, s.Count+hits-l.Burst)
	},
}

func prepareTokenBucket(l *Limit) error {
	if l.RefillMicros == 0 || l.Amount == 0 {
		return nil
	}
	if l.RefillMicros < 0 || l.RefillMicros > l.WindowMicros {
		return errors.New("refill_interval must be longer than nothing and at most the window")
	}
	step, rest := mulDiv(l.Amount, uint64(l.RefillMicros), uint64(l.WindowMicros), 0)
	if rest != 0 || step == 0 {
		return fmt.Errorf("refill_interval must add whole tokens, but %d a window in steps of %d µs makes %d and a fraction; choose an interval that divides the window into at most %d equal steps",
			l.Amount, l.RefillMicros, step, l.Amount)
	}
	l.stepHits = step
	return nil
}

func tokenAdvance(s State, l *Limit, now int64, b *Bounds) State {
	if l.RefillMicros == 0 {
		return flow(s, l, now, b)
	}
	s = settle(s, now, l.WindowMicros)
	steps := (s.now - s.Time) / l.RefillMicros
	back, _ := mulDiv(uint64(steps), l.stepHits, 1, 0)
	s.Count = drain(s.Count, back)
	s.Time += steps * l.RefillMicros
	s.Frac = 0
	if s.Count == 0 {
		s.Time = s.now
	}
	return s
}

func tokenGiveBack(s State, l *Limit, hits uint64, atMicros int64) State {
	if l.RefillMicros == 0 {
		return flowGiveBack(s, l, hits, atMicros)
	}
	since := max(0, s.now-atMicros)
	steps := (since + l.RefillMicros - 1) / l.RefillMicros
	back, _ := mulDiv(uint64(steps), l.stepHits, 1, 0)
	return flowRefund(s, l, drain(hits, back))
}

func tokenTime(s State, l *Limit, hits uint64) int64 {
	if l.stepHits == 0 || hits == 0 {
		return flowTime(s, l, hits)
	}
	steps := (hits-1)/l.stepHits + 1
	wait, _ := mulDiv(steps, uint64(l.RefillMicros), 1, 0)
	return max(0, int64(wait)-(s.now-s.Time))
}
