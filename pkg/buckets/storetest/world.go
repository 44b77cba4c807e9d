package storetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// world is what a part of a history happens in: some buckets, each with the
// limits that share it, for the amount of a rule may change.
type world struct {
	rng       *rand.Rand
	nowMicros int64
	buckets   []place
	charges   []buckets.Item // what a give-back may undo
	told      int64          // the last wait that was told
}

// place is one bucket.
type place struct {
	key    []byte
	limits []*buckets.Limit
}

const (
	firstMicros = 946_684_800 * second   // the year 2000
	lastMicros  = 4_300_000_000 * second // the year 2106
)

func newWorld(rng *rand.Rand, keyer *buckets.Keyer, algorithms []buckets.Algorithm, number int) *world {
	w := &world{rng: rng, nowMicros: firstMicros + rng.Int64N(3_000_000_000*second)}
	for i := range 3 {
		limits := RandomLimits(rng, pick(rng, algorithms...))
		entries := []buckets.Entry{{Key: "world", Value: fmt.Sprint(number)}, {Key: "bucket", Value: fmt.Sprint(i)}}
		w.buckets = append(w.buckets, place{keyer.Append(nil, "test", entries, nil, limits[0]), limits})
	}
	return w
}

func pick[T any](rng *rand.Rand, choices ...T) T { return choices[rng.IntN(len(choices))] }

// RandomLimits makes three prepared limits of one identity that differ in their
// amounts, of any shape and size that the algorithm can have.
func RandomLimits(rng *rand.Rand, a buckets.Algorithm) []*buckets.Limit {
	shape := randomShape(rng, a)
	var limits []*buckets.Limit
	for len(limits) < 3 {
		l := shape
		l.Amount = randomAmount(rng, &l)
		if a.HasBurst() && rng.IntN(2) == 0 {
			l.Burst = randomSize(rng)
		}
		l.Unbounded = a == buckets.FixedWindow && rng.IntN(8) == 0
		if l.Prepare() == nil {
			limits = append(limits, &l)
		} else { // perhaps no amount goes with that shape
			shape, limits = randomShape(rng, a), nil
		}
	}
	return limits
}

// randomShape is a limit without an amount.
func randomShape(rng *rand.Rand, a buckets.Algorithm) buckets.Limit {
	unit := pick(rng, int64(second), second, minute, minute, hour, day, 30*day, year)
	l := buckets.Limit{Algorithm: a, WindowMicros: min(unit*pick(rng, int64(1), 1, 1, 2, 7, 10), buckets.MaxWindowMicros)}
	switch {
	case a == buckets.TokenBucket && rng.IntN(3) == 0:
		l.RefillMicros = l.WindowMicros / pick(rng, int64(1), 2, 4, 10, 60, 1000)
	case a == buckets.FixedWindow && rng.IntN(3) == 0:
		l.Align = buckets.AlignFirstHit
	case a == buckets.FixedWindow && rng.IntN(3) == 0:
		l.Align = buckets.AlignCalendar
		period := pick(rng, buckets.Day, buckets.Week, buckets.Month, buckets.Year)
		l.WindowMicros = [...]int64{0, day, 7 * day, 30 * day, year}[period]
		l.Calendar, _ = buckets.NewCalendar(period, pick(rng, "", "Europe/Berlin", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Kathmandu"))
	}
	return l
}

func randomAmount(rng *rand.Rand, l *buckets.Limit) uint64 {
	amount := randomSize(rng)
	if l.Algorithm == buckets.SlidingWindowLog {
		return min(amount, buckets.MaxLogAmount)
	}
	if l.RefillMicros != 0 {
		stepsAWindow := uint64(l.WindowMicros / l.RefillMicros)
		return max(1, min(amount, buckets.MaxAmount/stepsAWindow)) * stepsAWindow
	}
	return amount
}

func randomSize(rng *rand.Rand) uint64 {
	switch rng.IntN(8) {
	case 0:
		return pick(rng, uint64(1), 1, 2)
	case 1:
		return pick(rng, uint64(buckets.MaxAmount), buckets.MaxAmount-1, 1<<31, 1<<31+1, 1<<20+1)
	case 2:
		return 1 + rng.Uint64N(buckets.MaxAmount)
	case 3:
		return 1 + rng.Uint64N(100_000)
	}
	return 1 + rng.Uint64N(30)
}

// call makes the next call of the history.
func (w *world) call() *buckets.Call {
	call := new(buckets.Call)
	for range pick(w.rng, 1, 1, 1, 2, 3) {
		call.Items = append(call.Items, w.item())
	}
	return call
}

func (w *world) item() buckets.Item {
	if len(w.charges) > 0 && w.rng.IntN(12) == 0 {
		return w.giveBack()
	}
	at := w.rng.IntN(len(w.buckets))
	l := w.buckets[at].limits[0]
	if w.rng.IntN(5) == 0 {
		l = pick(w.rng, w.buckets[at].limits...)
	}
	item := buckets.Item{
		Key: w.buckets[at].key, Limit: l, Hits: l.Clamp(w.hits(l)), Bounds: w.bounds(l),
		Role: pick(w.rng, buckets.Enforced, buckets.Enforced, buckets.Enforced, buckets.Shadow, buckets.Quota),
	}
	switch w.rng.IntN(10) {
	case 0:
		item.Op, item.Hits = buckets.Look, w.rng.Uint64N(2)
	case 1:
		item.Op = buckets.Refund
	default:
		item.Charged = w.rng.IntN(4) == 0
	}
	return item
}

func (w *world) giveBack() buckets.Item {
	item := pick(w.rng, w.charges...)
	item.Op, item.AtMicros = buckets.GiveBack, item.Verdict.AtMicros
	item.Bounds, item.Verdict = w.bounds(item.Limit), buckets.Verdict{}
	return item
}

// bounds are those of a server whose clock differs from the store's.
func (w *world) bounds(l *buckets.Limit) *buckets.Bounds {
	if l.Calendar == nil {
		return nil
	}
	skew := pick(w.rng, int64(0), 0, 0, second, -second, minute, -hour, l.WindowMicros, -l.WindowMicros, 3*l.WindowMicros)
	return l.Calendar.Bounds(w.nowMicros + skew)
}

func (w *world) hits(l *buckets.Limit) uint64 {
	capacity := l.Capacity()
	switch w.rng.IntN(12) {
	case 0:
		return capacity
	case 1:
		return pick(w.rng, capacity+1, 2*capacity, 2*capacity+1, capacity/2+1)
	case 2:
		return pick(w.rng, uint64(1<<32-1), 1<<32, 1<<53, 1<<53+1, 1<<63-1, 1<<63, 1<<64-1)
	case 3, 4, 5:
		return 1 + w.rng.Uint64N(capacity)
	case 6, 7:
		return 1 + w.rng.Uint64N(5)
	}
	return 1
}

// pass lets time go by, mostly forward.
func (w *world) pass() {
	l := pick(w.rng, w.buckets...).limits[0]
	window := l.WindowMicros
	hit := max(1, window/int64(l.Amount))
	step := int64(0)
	switch w.rng.IntN(16) {
	case 0, 1, 2, 3:
	case 4:
		step = pick(w.rng, int64(1), 1, 2, 999, second)
	case 5, 6, 7:
		step = w.rng.Int64N(3*hit + 1)
	case 8, 9:
		step = w.rng.Int64N(window/4 + 1)
	case 10, 11:
		step = w.told // exactly what a denied caller was told, or just less
	case 12:
		step = w.told - 1
	case 13:
		step = pick(w.rng, window-1, window, window+1, w.rng.Int64N(3*window))
	case 14:
		step = -w.rng.Int64N(pick(w.rng, hit, hit, 2*second, window/8, window) + 1)
	case 15:
		switch w.rng.IntN(4) {
		case 0: // far, perhaps beyond what is trusted
			step = pick(w.rng, int64(-1), 1) * w.rng.Int64N(5*window)
		case 1: // to the edge of what is trusted
			step = -window + pick(w.rng, int64(-1), 0, 1)
		}
	}
	w.nowMicros += step
	if w.nowMicros < firstMicros || w.nowMicros > lastMicros {
		w.nowMicros = firstMicros + w.rng.Int64N(3_000_000_000*second)
	}
}

// remember keeps what later steps refer to.
func (w *world) remember(call *buckets.Call) {
	for _, item := range call.Items {
		v := item.Verdict
		if !v.Allowed {
			w.told = v.ResetMicros
		}
		if item.Op == buckets.Take && v.Allowed && v.Charged && !item.Charged && len(w.charges) < 100 {
			w.charges = append(w.charges, item)
		}
	}
}
