package buckets_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest"
)

const (
	second = int64(1_000_000)
	minute = 60 * second
	hour   = 60 * minute
	year   = 365 * 24 * hour
	start  = 1_767_225_600 * second // 2026-01-01T00:00:00Z
)

// one is one bucket under one limit, with a clock: what the tests of the
// algorithms play with. A fresh one is forgotten at once, as stores do.
type one struct {
	limit   *buckets.Limit
	now     int64
	state   buckets.State
	freshAt int64
}

func newOne(l *buckets.Limit) *one { return &one{limit: l, now: start} }

func (o *one) decide(item buckets.Item) buckets.Verdict {
	item.Limit, item.Hits = o.limit, o.limit.Clamp(item.Hits)
	if o.limit.Calendar != nil {
		item.Bounds = o.limit.Calendar.Bounds(o.now)
	}
	call := &buckets.Call{Items: []buckets.Item{item}}
	table := []buckets.Bucket{{State: o.state}}
	buckets.Decide(call, table, []int{0}, o.now)
	if b := table[0]; b.Written {
		o.state, o.freshAt = b.State, b.FreshAtMicros
		if o.freshAt <= o.now {
			o.state = buckets.State{}
		}
	}
	return call.Items[0].Verdict
}

func (o *one) take(hits uint64) buckets.Verdict { return o.decide(buckets.Item{Hits: hits}) }

// look asks about hits and writes nothing.
func (o *one) look(hits uint64) buckets.Verdict {
	return o.decide(buckets.Item{Hits: hits, Op: buckets.Look})
}

func (o *one) copy() *one { c := *o; return &c }

func (o *one) String() string {
	l := o.limit
	return fmt.Sprintf("%v L=%d W=%d B=%d refill=%d align=%d now=%d state=%+v", l.Algorithm, l.Amount, l.WindowMicros, l.Capacity(), l.RefillMicros, l.Align, o.now, o.state)
}

// random is a generator whose seed is logged; BUCKETS_SEED repeats it.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("BUCKETS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 0, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("BUCKETS_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// randomOne is a bucket with a past: some charges, refunds and debts.
func randomOne(rng *rand.Rand, a buckets.Algorithm, debts bool) *one {
	o := newOne(storetest.RandomLimits(rng, a)[0])
	o.now += rng.Int64N(10 * year)
	for range 1 + rng.IntN(8) {
		item := buckets.Item{Hits: randomHits(rng, o.limit)}
		if debts {
			item.Charged = rng.IntN(4) == 0
			if rng.IntN(8) == 0 {
				item.Op = buckets.Refund
			}
		}
		o.decide(item)
		o.now += randomStep(rng, o.limit)
	}
	return o
}

func randomHits(rng *rand.Rand, l *buckets.Limit) uint64 {
	switch rng.IntN(4) {
	case 0:
		return 1 + rng.Uint64N(l.Capacity())
	case 1:
		return l.Capacity() - min(rng.Uint64N(3), l.Capacity()-1)
	}
	return 1 + rng.Uint64N(min(l.Capacity(), 3))
}

func randomStep(rng *rand.Rand, l *buckets.Limit) int64 {
	hit := max(1, l.WindowMicros/int64(l.Amount))
	switch rng.IntN(6) {
	case 0:
		return 0
	case 1:
		return 1
	case 2:
		return rng.Int64N(l.WindowMicros)
	}
	return rng.Int64N(2*hit + 1)
}

func each(t *testing.T, test func(t *testing.T, a buckets.Algorithm)) {
	t.Helper()
	for _, a := range buckets.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
}

func perMinute(t *testing.T, a buckets.Algorithm, amount, burst uint64) *buckets.Limit {
	t.Helper()
	l := &buckets.Limit{Algorithm: a, Amount: amount, WindowMicros: minute}
	if a.HasBurst() {
		l.Burst = burst
	}
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	return l
}
