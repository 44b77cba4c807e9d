package storetest

import (
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

func testCharged(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l, none := limit(t, a, 10), limit(t, a, 1)
		b.decide(b.item("none", none, 1))
		// Charged though the call is denied by another bucket.
		item := b.item("x", l, 4)
		item.Charged = true
		call := b.decide(item, b.item("none", none, 1))
		if v := call.Items[0].Verdict; !call.Denied || !v.Allowed || !v.Charged || v.Remaining != 6 {
			t.Errorf("%+v", call)
		}
		// Charged though there is no room: to one capacity below empty, no further.
		item.Hits = l.Clamp(1 << 60)
		for range 3 {
			if v := b.decide(item).Items[0].Verdict; v.Allowed || !v.Charged || v.Remaining != 0 {
				t.Errorf("%+v", v)
			}
		}
		one := b.item("x", l, 1)
		v := b.decide(one).Items[0].Verdict
		b.wait(v.ResetMicros)
		if after := b.decide(one); after.Denied || v.ResetMicros > 3*minute {
			t.Errorf("a debt of one capacity: told to wait %d µs, then %+v", v.ResetMicros, after.Items[0].Verdict)
		}
	})
}

func testRefund(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l := limit(t, a, 10)
		refund := b.item("x", l, 3)
		refund.Op = buckets.Refund
		if v := b.decide(refund).Items[0].Verdict; !v.Allowed || v.Charged || v.Remaining != 10 {
			t.Errorf("a refund to nothing: %+v", v)
		}
		if value := b.Read(t, a, refund.Key); value != nil {
			t.Errorf("a refund created a bucket: %x", value)
		}
		b.decide(b.item("x", l, 8))
		// It applies also in a call that is denied.
		if call := b.decide(b.item("x", l, 9), refund); !call.Denied || !call.Items[1].Verdict.Charged {
			t.Errorf("%+v", call)
		}
		b.remaining("x", l, 5)
		refund.Hits = l.Clamp(1 << 40)
		b.decide(refund)
		b.remaining("x", l, 10)
	})
}

func testGiveBack(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l := limit(t, a, 10)
		charge := b.decide(b.item("x", l, 4)).Items[0]
		b.decide(b.item("x", l, 2))
		charge.Op, charge.AtMicros = buckets.GiveBack, charge.Verdict.AtMicros
		if v := b.decide(charge).Items[0].Verdict; !v.Charged || v.Remaining != 8 {
			t.Errorf("%+v", v)
		}
		// After two windows nothing of a charge is left to give back.
		b.wait(2 * minute)
		b.decide(b.item("x", l, 6))
		b.decide(charge)
		b.remaining("x", l, 4)
	})
}
