package spread_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/spread"
)

const patience = 10 * time.Second

// pairWorld is a pair of embedded stores whose clock stands still.
type pairWorld struct {
	*spread.Pair
	t                *testing.T
	main, second     *memstore.Store
	limit, perSecond *buckets.Limit
	fails            [2]*failing
}

// failing is a store that can be told to fail.
type failing struct {
	buckets.Store
	kind atomic.Pointer[buckets.ErrorKind] // nil: works
}

func (f *failing) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	kind := f.kind.Load()
	if kind == nil {
		f.Store.Decide(ctx, budget, calls)
		return
	}
	for _, call := range calls {
		call.Err = &buckets.StoreError{Kind: *kind}
	}
}

func newPairWorld(t *testing.T, amount, amountPerSecond uint64) *pairWorld {
	t.Helper()
	w := &pairWorld{t: t}
	now := func() int64 { return 1_767_225_600_000_000 }
	w.main, w.second = memstore.New(memstore.Options{Now: now}), memstore.New(memstore.Options{Now: now})
	w.fails = [2]*failing{{Store: w.main}, {Store: w.second}}
	w.Pair = spread.NewPair(w.fails[0], w.fails[1], nil)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	w.limit = &buckets.Limit{Algorithm: buckets.FixedWindow, Amount: amount, WindowMicros: 60_000_000}
	w.perSecond = &buckets.Limit{Algorithm: buckets.FixedWindow, Amount: amountPerSecond, WindowMicros: 1_000_000}
	for _, limit := range []*buckets.Limit{w.limit, w.perSecond} {
		if err := limit.Prepare(); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// take asks both limits for a hit.
func (w *pairWorld) take() *buckets.Call {
	call := &buckets.Call{Items: []buckets.Item{
		{Key: []byte("minute"), Limit: w.limit, Hits: 1},
		{Key: []byte("second"), Limit: w.perSecond, Hits: 1},
	}}
	w.Decide(context.Background(), patience, []*buckets.Call{call})
	return call
}

// used waits until the counts of both are as wanted.
func (w *pairWorld) used(minute, second uint64) {
	w.t.Helper()
	var got [2]uint64
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		a, _ := w.main.Peek([]byte("minute"))
		b, _ := w.second.Peek([]byte("second"))
		if got = [2]uint64{a.Count, b.Count}; got == [2]uint64{minute, second} {
			return
		}
	}
	w.t.Errorf("%d hits are charged, want %d and %d", got, minute, second)
}

// Limits with a window of one second live in the second store, all others in
// the first; a call is all or nothing over both.
func TestPairIsAllOrNothing(t *testing.T) {
	t.Parallel()
	w := newPairWorld(t, 5, 2)
	for i := range 2 {
		if call := w.take(); call.Err != nil || call.Denied {
			t.Fatalf("call %d: %+v", i, call)
		}
	}
	w.used(2, 2)
	if w.main.Len() != 1 || w.second.Len() != 1 {
		t.Errorf("%d and %d buckets, want one each", w.main.Len(), w.second.Len())
	}
	for range 10 {
		call := w.take()
		if call.Err != nil || !call.Denied || call.Items[1].Verdict.Allowed {
			t.Fatalf("over the second's limit: %+v", call)
		}
		if v := call.Items[0].Verdict; !v.Allowed || v.Charged {
			t.Fatalf("the minute's limit: %+v", v)
		}
	}
	w.used(2, 2)
	if w.Lost() != 0 {
		t.Errorf("%d give-backs lost", w.Lost())
	}
}

// What was charged before the other denied is given back.
func TestPairGivesBack(t *testing.T) {
	t.Parallel()
	w := newPairWorld(t, 1, 9)
	w.take()
	if call := w.take(); !call.Denied { // the first denial is a surprise
		t.Fatalf("%+v", call)
	}
	w.used(1, 1)
	if w.Delivered() != 1 || w.Lost() != 0 {
		t.Errorf("%d give-backs delivered, %d lost", w.Delivered(), w.Lost())
	}
}

// A store that fails fails the calls that need it, no others; what the other
// charged is given back if whoever decides says so.
func TestPairWithOneFailing(t *testing.T) {
	t.Parallel()
	w := newPairWorld(t, 9, 9)
	kind := buckets.KindTimeout
	w.fails[1].kind.Store(&kind)
	call := w.take()
	failed, ok := errors.AsType[*buckets.StoreError](call.Err)
	if !ok || failed.Kind != kind || call.Return == nil {
		t.Fatalf("%+v", call)
	}
	w.used(1, 0)
	call.Return()
	w.used(0, 0)

	alone := &buckets.Call{Items: []buckets.Item{{Key: []byte("minute"), Limit: w.limit, Hits: 1}}}
	w.Decide(context.Background(), patience, []*buckets.Call{alone})
	if alone.Err != nil || alone.Denied {
		t.Errorf("a call without a limit per second: %+v", alone)
	}

	w.fails[1].kind.Store(nil)
	if call := w.take(); call.Err != nil || call.Denied {
		t.Errorf("after recovery: %+v", call)
	}
	w.used(2, 1)
}

// Many calls of one Decide are told apart.
func TestPairDecidesManyCalls(t *testing.T) {
	t.Parallel()
	w := newPairWorld(t, 100, 100)
	var calls []*buckets.Call
	for i := range 12 {
		items := []buckets.Item{
			{Key: []byte("minute"), Limit: w.limit, Hits: 1},
			{Key: []byte("second"), Limit: w.perSecond, Hits: 1},
		}
		calls = append(calls, &buckets.Call{Items: [][]buckets.Item{items[:1], items[1:], items}[i%3]})
	}
	w.Decide(context.Background(), patience, calls)
	for i, call := range calls {
		for j := range call.Items {
			if call.Err != nil || call.Denied || !call.Items[j].Verdict.Charged {
				t.Errorf("call %d: %+v", i, call)
			}
		}
	}
	w.used(8, 8)
}

// Close closes both stores.
func TestPairCloses(t *testing.T) {
	t.Parallel()
	w := newPairWorld(t, 9, 9)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	failed, ok := errors.AsType[*buckets.StoreError](w.take().Err)
	if !ok || failed.Kind != buckets.KindClosed {
		t.Errorf("after Close: %v", failed)
	}
}
