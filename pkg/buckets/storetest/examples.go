package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

func testSingle(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l := limit(t, a, 3)
		for _, remaining := range []uint64{2, 1, 0} {
			call := b.decide(b.item("x", l, 1))
			v := call.Items[0].Verdict
			if call.Denied || !v.Allowed || !v.Charged || v.Remaining != remaining || call.AtMicros != b.now || v.AtMicros != b.now {
				t.Errorf("remaining should be %d: %+v", remaining, call)
			}
		}
		call := b.decide(b.item("x", l, 1))
		v := call.Items[0].Verdict
		if !call.Denied || v.Allowed || v.Charged || v.Remaining != 0 || v.ResetMicros <= 0 {
			t.Errorf("the fourth of three passed: %+v", call)
		}
		if call := b.decide(b.item("y", l, 3)); call.Denied {
			t.Error("another bucket was denied")
		}
	})
}

func testWaitAsTold(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l := limit(t, a, 7)
		b.wait(123_457)
		for i := range 60 {
			call := b.decide(b.item("x", l, uint64(i%7)+1))
			if !call.Denied {
				continue
			}
			b.wait(call.Items[0].Verdict.ResetMicros)
			if again := b.decide(b.item("x", l, uint64(i%7)+1)); again.Denied {
				t.Fatalf("call %d waited as told and was denied: %+v, then %+v", i, call.Items[0].Verdict, again.Items[0].Verdict)
			}
		}
	})
}

// testAllOrNothing is also FAULTS N2: one limit denies, the other is burnt.
func testAllOrNothing(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		one, ten := limit(t, a, 1), limit(t, a, 10)
		for i, denied := range []bool{false, true, true} {
			call := b.decide(b.item("one", one, 1), b.item("ten", ten, 1))
			if call.Denied != denied {
				t.Errorf("call %d: denied %v", i, call.Denied)
			}
			if v := call.Items[1].Verdict; !v.Allowed || v.Charged != !denied || v.Remaining != 9 && !b.Spread {
				t.Errorf("call %d: the limit with room says %+v, want 9 left", i, v)
			}
		}
		b.remaining("ten", ten, 9)
	})
}

func testListOfCalls(t *testing.T, open Factory) {
	b := newBench(t, open)
	one, ten := limit(t, buckets.TokenBucket, 1), limit(t, buckets.FixedWindow, 10)
	var calls []*buckets.Call
	for i := range 50 {
		calls = append(calls, &buckets.Call{Items: []buckets.Item{
			b.item(fmt.Sprint(i%5), one, 1), b.item("ten", ten, 1), b.item(fmt.Sprint("own", i), one, 1),
		}})
	}
	b.Store.Decide(context.Background(), budget, calls)
	allowed := uint64(0)
	for i, call := range calls {
		if call.Err != nil {
			t.Fatalf("call %d: %v", i, call.Err)
		}
		own := call.Items[2].Verdict
		if !own.Allowed || own.Charged == call.Denied {
			t.Errorf("call %d: denied %v, but its own bucket says %+v", i, call.Denied, own)
		}
		if !call.Denied {
			allowed++
		}
	}
	if allowed > 5 || allowed < 5 && !b.Spread {
		t.Errorf("%d calls of the list passed five buckets of one hit", allowed)
	}
	b.remaining("ten", ten, 10-allowed)
}

func testSameBucketTwice(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l := limit(t, a, 10)
		call := b.decide(b.item("x", l, 4), b.item("x", l, 5))
		if call.Denied || call.Items[0].Verdict.Remaining != 6 || call.Items[1].Verdict.Remaining != 1 {
			t.Errorf("4 and 5 of 10: %+v", call)
		}
		b.remaining("x", l, 1)
		call = b.decide(b.item("y", l, 6), b.item("y", l, 5))
		if !call.Denied || !call.Items[0].Verdict.Allowed || call.Items[1].Verdict.Allowed {
			t.Errorf("6 and 5 of 10: %+v", call)
		}
		b.remaining("y", l, 10)
	})
}

func testRoles(t *testing.T, open Factory) {
	const e, s, q = buckets.Enforced, buckets.Shadow, buckets.Quota
	tests := []struct {
		name    string
		roles   []buckets.Role
		over    []bool
		denied  bool
		charged []bool
	}{
		{"room everywhere", []buckets.Role{e, s, q}, []bool{false, false, false}, false, []bool{true, true, true}},
		{"shadow never denies", []buckets.Role{e, s}, []bool{false, true}, false, []bool{true, false}},
		{"shadow alone", []buckets.Role{s}, []bool{true}, false, []bool{false}},
		{"enforced denies", []buckets.Role{e, s, q}, []bool{true, false, false}, true, []bool{false, false, false}},
		{"one quota is left", []buckets.Role{q, q}, []bool{true, false}, false, []bool{false, true}},
		{"no quota is left", []buckets.Role{q, q, s}, []bool{true, true, false}, true, []bool{false, false, false}},
		{"no quota is left, enforced has room", []buckets.Role{e, q}, []bool{false, true}, true, []bool{false, false}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open)
			l := limit(t, buckets.TokenBucket, 2)
			var items []buckets.Item
			for i, role := range test.roles {
				item := b.item(fmt.Sprint(i), l, 2)
				if test.over[i] {
					b.decide(item)
				}
				item.Role = role
				items = append(items, item)
			}
			call := b.decide(items...)
			if call.Denied != test.denied {
				t.Errorf("denied %v", call.Denied)
			}
			for i, item := range call.Items {
				if item.Verdict.Allowed == test.over[i] || item.Verdict.Charged != test.charged[i] {
					t.Errorf("item %d: %+v", i, item.Verdict)
				}
			}
		})
	}
}

func testLook(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l := limit(t, a, 2)
		if v := b.look("x", l); !v.Allowed || v.Charged || v.Remaining != 2 {
			t.Errorf("of a fresh bucket: %+v", v)
		}
		b.decide(b.item("x", l, 2))
		before := b.Read(t, a, b.key("x", l))
		b.wait(1)
		if v := b.look("x", l); v.Allowed || v.Charged || v.Remaining != 0 {
			t.Errorf("of an empty bucket: %+v", v)
		}
		if after := b.Read(t, a, b.key("x", l)); !cmp.Equal(before, after) {
			t.Errorf("a look wrote: %x, then %x", before, after)
		}
		// An enforced look denies the call.
		look := b.item("x", l, 1)
		look.Op = buckets.Look
		if call := b.decide(look, b.item("y", l, 1)); !call.Denied || call.Items[1].Verdict.Charged {
			t.Errorf("%+v", call)
		}
	})
}

func testOddKeys(t *testing.T, open Factory) {
	b := newBench(t, open)
	l := limit(t, buckets.TokenBucket, 1)
	long := make([]byte, buckets.MaxKeyBytes-len(b.keyer.Prefix))
	for i := range long {
		long[i] = byte(i)
	}
	keys := []string{"a", "A", "a ", " a", "a\x00", "a\x00b", "\x00", "\r\n", "{a}", "{", "}", "a:b", "a%s", "é", "e\u0301", "\xff\xfe", "\\x00", string(long), string(long[:len(long)-1])}
	for _, key := range keys {
		item := buckets.Item{Key: []byte(b.keyer.Prefix + key), Limit: l, Hits: 1}
		if call := b.decide(item); call.Denied {
			t.Errorf("%q shares a bucket with a key before it", key)
		}
		if call := b.decide(item); !call.Denied {
			t.Errorf("%q is not found again", key)
		}
	}
}

// testBigNumbers is FAULTS N7, N8 and A3: no number wraps or loses a unit.
func testBigNumbers(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		l := &buckets.Limit{Algorithm: a, Amount: buckets.MaxAmount, WindowMicros: 2 * hour, Burst: 1}
		switch a {
		case buckets.SlidingWindowLog:
			l.Amount = buckets.MaxLogAmount
		case buckets.TokenBucket, buckets.LeakyBucket, buckets.GCRA:
			l.Burst = buckets.MaxAmount
		}
		prepared(t, l)
		most := l.Capacity()
		b := newBench(t, open)
		for _, hits := range []uint64{most + 1, 1 << 32, 1<<53 + 1, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
			if call := b.decide(b.item("x", l, hits)); !call.Denied || call.Items[0].Verdict.Remaining != most {
				t.Errorf("%d hits of %d: %+v", hits, most, call.Items[0].Verdict)
			}
		}
		if call := b.decide(b.item("x", l, most)); call.Denied || call.Items[0].Verdict.Remaining != 0 {
			t.Errorf("all hits: %+v", call.Items[0].Verdict)
		}
		charged := b.item("x", l, 1<<62)
		charged.Charged = true
		for range 3 {
			b.decide(charged)
		}
		if call := b.decide(b.item("x", l, 1)); !call.Denied {
			t.Errorf("one more: %+v", call.Items[0].Verdict)
		}
	})
}

// testChangedAmount is FAULTS A11 and K17: what was used stays.
func testChangedAmount(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		five, nine := limit(t, a, 5), limit(t, a, 9)
		b.decide(b.item("x", five, 5))
		if call := b.decide(b.item("x", five, 1)); !call.Denied {
			t.Errorf("the sixth of five passed: %+v", call)
		}
		want := uint64(4)
		if a == buckets.GCRA {
			want = 0 // it keeps the share that was used
		}
		b.remaining("x", nine, want)
		b.remaining("x", limit(t, a, 2), 0)
	})
}

func testNothingStaysOfFresh(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l := limit(t, a, 10)
		item := b.item("x", l, 4)
		b.decide(item)
		if b.Read(t, a, item.Key) == nil {
			t.Fatal("a charge left no bucket")
		}
		item.Op = buckets.Refund
		b.decide(item)
		if value := b.Read(t, a, item.Key); value != nil {
			t.Errorf("a bucket that is as new stays in the store: %x", value)
		}
	})
}

func testNoItems(t *testing.T, open Factory) {
	b := newBench(t, open)
	if call := b.decide(); call.Denied {
		t.Error("a call without limits was denied")
	}
	b.Store.Decide(context.Background(), budget, nil)
}

func testBudget(t *testing.T, open Factory) {
	b := newBench(t, open)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l := limit(t, buckets.TokenBucket, 10)
	for _, ctx := range []context.Context{ctx, context.Background()} {
		call := &buckets.Call{Items: []buckets.Item{b.item("x", l, 1)}}
		began := time.Now()
		b.Store.Decide(ctx, 0, []*buckets.Call{call})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("a call without budget took %v", took)
		}
		var failure *buckets.StoreError
		if call.Err != nil && (b.InProcess || !errors.As(call.Err, &failure)) {
			t.Errorf("Err = %v", call.Err)
		}
	}
	b.decide(b.item("x", l, 1)) // the store is as well as ever
}

func testClose(t *testing.T, open Factory) {
	b := newBench(t, open)
	l := limit(t, buckets.TokenBucket, 10)
	b.decide(b.item("x", l, 1))
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	calls := []*buckets.Call{{Items: []buckets.Item{b.item("x", l, 1)}}, {Items: []buckets.Item{b.item("y", l, 1)}}}
	b.Store.Decide(context.Background(), budget, calls)
	for i, call := range calls {
		var failure *buckets.StoreError
		if !errors.As(call.Err, &failure) || failure.Kind != buckets.KindClosed {
			t.Errorf("call %d after Close: Err = %v", i, call.Err)
		}
	}
	if err := b.Store.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
