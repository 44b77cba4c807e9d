package buckets_test

import (
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// Each test is named after a fault that users of other servers met.

// FAULTS N12: 10 hits at :59 and 10 at :00 all pass a fixed window.
func TestN12EdgeBurst(t *testing.T) {
	t.Parallel()
	for a, want := range map[buckets.Algorithm]int{
		buckets.FixedWindow: 20, buckets.SlidingWindowLog: 10, buckets.SlidingWindowCounter: 10,
		buckets.TokenBucket: 10, buckets.LeakyBucket: 10, buckets.GCRA: 10,
	} {
		o := newOne(perMinute(t, a, 10, 10))
		o.now += 59 * second
		allowed := 0
		for i := range 20 {
			if i == 10 {
				o.now += second
			}
			if o.take(1).Allowed {
				allowed++
			}
		}
		if allowed != want {
			t.Errorf("%v: %d of 20 hits in two seconds, want %d", a, allowed, want)
		}
	}
}

// FAULTS N14: the count of a window that is over must not come back because
// its key is still there.
func TestN14StaleCount(t *testing.T) {
	t.Parallel()
	for _, align := range []buckets.Align{buckets.AlignEpoch, buckets.AlignFirstHit} {
		l := &buckets.Limit{Algorithm: buckets.FixedWindow, Amount: 3, WindowMicros: minute, Align: align}
		if err := l.Prepare(); err != nil {
			t.Fatal(err)
		}
		o := newOne(l)
		o.take(3)
		for _, later := range []int64{minute, minute + 1, 100 * minute} {
			next := o.copy() // the state is still there, whatever its expiry
			next.now += later
			if v := next.take(1); !v.Allowed || v.Remaining != 2 {
				t.Errorf("%d µs later: %+v", later, v)
			}
		}
	}
}

// FAULTS N1: a denied cost must not use up what is there.
func TestN1DeniedHitsAreFree(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a buckets.Algorithm) {
		o := newOne(perMinute(t, a, 2, 2))
		if v := o.take(5); v.Allowed || v.Remaining != 2 {
			t.Errorf("5 of 2: %+v", v)
		}
		if v := o.look(1); !v.Allowed || v.Remaining != 2 {
			t.Errorf("then: %+v", v)
		}
	})
}

// FAULTS N6: a limit of 0 with 0 hits, and with 1.
func TestN6NoHits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a buckets.Algorithm) {
		o := newOne(perMinute(t, a, 1, 1))
		o.take(1)
		if v := o.look(0); !v.Allowed || v.Remaining != 0 {
			t.Errorf("a look for nothing at an empty bucket: %+v", v)
		}
		o.decide(buckets.Item{Hits: 1, Charged: true})
		if v := o.look(0); v.Allowed {
			t.Errorf("a look for nothing at an overdrawn bucket: %+v", v)
		}
	})
}

// FAULTS A1: a rate of 0 divides by nothing. Callers do not ask a store about
// it, but if one does, nothing breaks and nothing is let through for free.
func TestA1RateZero(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a buckets.Algorithm) {
		l := &buckets.Limit{Algorithm: a, WindowMicros: minute}
		if a == buckets.TokenBucket {
			l.RefillMicros = second
		}
		if err := l.Prepare(); err != nil {
			t.Fatal(err)
		}
		for _, burst := range []uint64{0, 5} {
			l := *l
			l.Burst = burst
			if err := l.Prepare(); err != nil {
				t.Fatal(err)
			}
			o := newOne(&l)
			for _, op := range []buckets.Op{buckets.Take, buckets.Look, buckets.Refund, buckets.GiveBack} {
				for _, charged := range []bool{false, true} {
					for range 7 {
						v := o.decide(buckets.Item{Hits: 1, Op: op, Charged: charged})
						if v.Remaining > l.Capacity() || v.ResetMicros < 0 || l.Capacity() == 0 && op == buckets.Take && v.Allowed {
							t.Errorf("%+v", v)
						}
					}
				}
			}
		}
	})
}

// FAULTS A3, A12: what cannot be computed exactly is refused at load, with a
// text that says what to write instead.
func TestA3A12PrepareRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]buckets.Limit{
		"no algorithm":        {Amount: 1, WindowMicros: minute},
		"unknown algorithm":   {Algorithm: 99, Amount: 1, WindowMicros: minute},
		"window too short":    {Algorithm: buckets.GCRA, Amount: 1, WindowMicros: second - 1},
		"window too long":     {Algorithm: buckets.FixedWindow, Amount: 1, WindowMicros: 10*year + 1},
		"negative window":     {Algorithm: buckets.FixedWindow, Amount: 1, WindowMicros: -1},
		"amount too large":    {Algorithm: buckets.TokenBucket, Amount: buckets.MaxAmount + 1, WindowMicros: minute},
		"burst too large":     {Algorithm: buckets.LeakyBucket, Amount: 1, Burst: 1 << 63, WindowMicros: minute},
		"log too large":       {Algorithm: buckets.SlidingWindowLog, Amount: buckets.MaxLogAmount + 1, WindowMicros: minute},
		"gcra too fast":       {Algorithm: buckets.GCRA, Amount: 1_000_001, WindowMicros: second},
		"gcra burst too long": {Algorithm: buckets.GCRA, Amount: 1, Burst: 11, WindowMicros: year},
		"calendar missing":    {Algorithm: buckets.FixedWindow, Amount: 1, WindowMicros: minute, Align: buckets.AlignCalendar},
		"unknown alignment":   {Algorithm: buckets.FixedWindow, Amount: 1, WindowMicros: minute, Align: 9},
		"negative refill":     {Algorithm: buckets.TokenBucket, Amount: 60, WindowMicros: minute, RefillMicros: -second},
		"refill too long":     {Algorithm: buckets.TokenBucket, Amount: 60, WindowMicros: minute, RefillMicros: minute + second},
		"refill of nothing":   {Algorithm: buckets.TokenBucket, Amount: 1, WindowMicros: minute, RefillMicros: second},
		"refill of fractions": {Algorithm: buckets.TokenBucket, Amount: 100, WindowMicros: minute, RefillMicros: second},
	}
	for name, l := range tests {
		if err := l.Prepare(); err == nil {
			t.Errorf("%s: no error", name)
		} else if len(err.Error()) < 10 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FAULTS A5: no negative wait on success; a fresh bucket tells none.
func TestA5ResetSign(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a buckets.Algorithm) {
		o := newOne(perMinute(t, a, 5, 5))
		if v := o.look(1); !v.Allowed || v.ResetMicros < 0 || v.ResetMicros > minute {
			t.Errorf("%+v", v)
		}
	})
}

// FAULTS A7: the rate must not drift: 10 minutes at twice the rate let through
// what the limit says, within one percent.
func TestA7NoDrift(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a buckets.Algorithm) {
		o := newOne(perMinute(t, a, 997, 10))
		allowed := 0
		for i := range 2 * 9970 {
			o.now = start + int64(i)*10*minute/(2*9970)
			if o.take(1).Allowed {
				allowed++
			}
		}
		if allowed < 9970*99/100 || allowed > 9970*101/100+10 {
			t.Errorf("%d passed, the limit is 9970", allowed)
		}
	})
}

// FAULTS A8: remaining never exceeds the burst, whatever is refunded or changed.
func TestA8RemainingWithinBurst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a buckets.Algorithm) {
		o := newOne(perMinute(t, a, 100, 100))
		o.take(70)
		for _, amount := range []uint64{1, 50, 100, 1000} {
			o.limit = perMinute(t, a, amount, amount)
			for _, item := range []buckets.Item{{Op: buckets.Look, Hits: 1}, {Op: buckets.Refund, Hits: 3}, {Hits: 1}} {
				if v := o.decide(item); v.Remaining > amount {
					t.Errorf("%d left of %d", v.Remaining, amount)
				}
			}
		}
	})
}
