package buckets

import "fmt"

// gcra: the generic cell rate algorithm (ITU-T I.371, ATM Forum UNI 3.1), a
// token bucket in one number. Each hit takes T = ceil(W/L) µs; the state is the
// theoretical arrival time (TAT), the moment at which the bucket is as new. A
// cost fits while the TAT stays within B·T of now.
//
// State: Time is the TAT. Because it is a time, a changed amount keeps the
// share that was used rather than the hits.
//
// Lua twin: lua/gcra.lua.
var gcra = spec{
	name:     "gcra",
	hasBurst: true,
	prepare:  prepareGCRA,
	advance:  gcraAdvance,
	used:     gcraUsed,
	charge:   gcraCharge,
	refund:   gcraRefund,
	giveBack: gcraGiveBack,
	freshIn:  func(s State, _ *Limit) int64 { return s.Time - s.now },
	roomIn: func(s State, l *Limit, hits uint64) int64 {
		// hits ≤ B, so the product stays below ten years.
		return s.Time - s.now - int64(l.Burst-hits)*l.emissionMicros
	},
}

func prepareGCRA(l *Limit) error {
	if l.Amount == 0 {
		return nil
	}
	if l.Amount > MaxGCRAPerSecond*uint64(l.WindowMicros/1_000_000) {
		return fmt.Errorf("gcra ends at %d a second; token_bucket has no such bound", MaxGCRAPerSecond)
	}
	l.emissionMicros = int64(mulDivUp(uint64(l.WindowMicros), 1, l.Amount, 0))
	if full, _ := mulDiv(l.Burst, uint64(l.emissionMicros), 1, 0); full > MaxWindowMicros {
		return fmt.Errorf("a burst of %d takes more than ten years to come back", l.Burst)
	}
	return nil
}

// GCRARoundingLoss is the share of the amount that gcra loses because a hit
// takes whole microseconds, in 1/1000 of a percent. It is 0 for any other
// algorithm.
func (l *Limit) GCRARoundingLoss() int64 {
	if l.Algorithm != GCRA || l.Amount == 0 {
		return 0
	}
	window, _ := mulDiv(uint64(l.emissionMicros), l.Amount, 1, 0)
	return (int64(window) - l.WindowMicros) * 100_000 / int64(window)
}

func gcraAdvance(s State, l *Limit, now int64, _ *Bounds) State {
	reach := l.WindowMicros + 2*int64(l.Burst)*l.emissionMicros
	s.mended = s.Time-now > reach
	if s.Time < now || s.mended {
		s.Time = now
	}
	s.now = now
	return s
}

func gcraUsed(s State, l *Limit) uint64 {
	return mulDivUp(uint64(s.Time-s.now), 1, uint64(l.emissionMicros), 0)
}

func gcraCharge(s State, l *Limit, hits uint64) State {
	cost, _ := mulDiv(hits, uint64(l.emissionMicros), 1, 0)
	most, _ := mulDiv(l.maxUsed(), uint64(l.emissionMicros), 1, 0)
	s.Time = s.now + int64(fill(uint64(s.Time-s.now), cost, most))
	return s
}

func gcraRefund(s State, l *Limit, hits uint64) State {
	back, _ := mulDiv(hits, uint64(l.emissionMicros), 1, 0)
	s.Time = s.now + int64(drain(uint64(s.Time-s.now), back))
	return s
}

// gcraGiveBack is a refund less the time that has passed since the charge.
func gcraGiveBack(s State, l *Limit, hits uint64, atMicros int64) State {
	back, _ := mulDiv(hits, uint64(l.emissionMicros), 1, 0)
	back = drain(back, uint64(max(0, s.now-atMicros)))
	s.Time = s.now + int64(drain(uint64(s.Time-s.now), back))
	return s
}
