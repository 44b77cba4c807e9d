package storetest

import (
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// testReset: a bucket is as new after a reset, also where a larger amount or
// several windows have left more in it than its limit can charge.
func testReset(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l, large := limit(t, a, 3), limit(t, a, 5000)
		key := b.key("x", l)
		reset := func() {
			t.Helper()
			item := buckets.Reset(key, l)
			if call := b.decide(item); call.Denied || !call.Items[0].Verdict.Allowed {
				t.Errorf("a reset: %+v", call)
			}
			if value := b.Read(t, a, key); value != nil {
				t.Errorf("a reset leaves %x", value)
			}
			b.remaining("x", l, l.Capacity())
		}
		reset() // of nothing
		b.decide(b.item("x", l, l.Capacity()))
		reset()
		for range 2 { // so that the window before is full, too, and beyond full
			charged := b.item("x", large, large.Clamp(1<<60))
			charged.Charged = true
			b.decide(charged)
			b.wait(minute)
		}
		b.decide(b.item("x", l, 1))
		reset()
		if call := b.decide(b.item("x", l, l.Capacity())); call.Denied {
			t.Errorf("a caller who was denied before the reset: %+v", call.Items[0].Verdict)
		}
	})
}

// testGrant: a grant is room for as many hits, and no more than a full bucket.
func testGrant(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l := limit(t, a, 10)
		b.decide(b.item("x", l, 10))
		b.decide(buckets.Grant(b.key("x", l), l, 4))
		b.remaining("x", l, 4)
		b.decide(buckets.Grant(b.key("x", l), l, 1<<63))
		b.remaining("x", l, 10)
	})
}
