package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// RunParallel runs calls side by side.
func RunParallel(t *testing.T, open Factory) {
	t.Run("SharedLimits", func(t *testing.T) { testSharedLimits(t, open) })
	t.Run("CheckThenIncrement", func(t *testing.T) { testCheckThenIncrement(t, open) })
}

// testSharedLimits: 600 calls at once on limits of 100 and 300. Exactly 100
// pass (no more, where the store is spread), and as many hits are charged on
// both.
func testSharedLimits(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		small, large := limit(t, a, 100), limit(t, a, 300)
		allowed := b.atOnce(600, func(i int) *buckets.Call {
			items := []buckets.Item{b.item("small", small, 1), b.item("large", large, 1)}
			if i%2 == 1 { // whatever the order, nobody waits in a circle
				items[0], items[1] = items[1], items[0]
			}
			return &buckets.Call{Items: items}
		})
		if allowed > 100 || allowed < 100 && !b.Spread {
			t.Errorf("%d of 600 calls passed a limit of 100", allowed)
		}
		b.remaining("small", small, 100-allowed)
		b.remaining("large", large, 300-allowed)
	})
}

// testCheckThenIncrement is FAULTS N4: 400 callers who all see the last token.
func testCheckThenIncrement(t *testing.T, open Factory) {
	each(t, func(t *testing.T, a buckets.Algorithm) {
		b := newBench(t, open)
		l := limit(t, a, 100)
		allowed := b.atOnce(400, func(int) *buckets.Call {
			return &buckets.Call{Items: []buckets.Item{b.item("x", l, 1), b.item("y", l, 1)}}
		})
		if allowed > 100 || allowed < 100 && !b.Spread {
			t.Errorf("%d of 400 calls passed limits of 100", allowed)
		}
		b.remaining("x", l, 100-allowed)
		b.remaining("y", l, 100-allowed)
	})
}

// atOnce decides n calls in as many goroutines and counts those allowed.
func (b *bench) atOnce(n int, call func(i int) *buckets.Call) (allowed uint64) {
	b.t.Helper()
	calls := make([]*buckets.Call, n)
	for i := range calls {
		calls[i] = call(i)
	}
	var done sync.WaitGroup
	begin := make(chan struct{})
	for _, call := range calls {
		done.Go(func() {
			<-begin
			b.Store.Decide(context.Background(), budget, []*buckets.Call{call})
		})
	}
	close(begin)
	done.Wait()
	for _, call := range calls {
		if call.Err != nil {
			b.t.Fatalf("Decide: %v", call.Err)
		}
		if !call.Denied {
			allowed++
		}
	}
	return allowed
}
