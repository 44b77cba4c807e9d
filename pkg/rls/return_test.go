package rls_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// halfway is a store that fails after it charged a part of the call.
type halfway struct {
	works    atomic.Bool
	returned atomic.Int64
}

func (h *halfway) Decide(_ context.Context, _ time.Duration, calls []*buckets.Call) {
	for _, call := range calls {
		if h.works.Load() {
			if call.Return != nil {
				h.returned.Add(1000) // left over from the call before
			}
			for i := range call.Items {
				call.Items[i].Verdict = buckets.Verdict{Allowed: true, Charged: true}
			}
			continue
		}
		call.Err = &buckets.StoreError{Kind: buckets.KindCluster, Err: errors.New("a slot without a master")}
		call.Return = func() { h.returned.Add(1) }
	}
}

func (*halfway) Close() error { return nil }

// What a store charged before it failed is given back once, unless policy lets
// the call pass.
func TestChargesAreReturned(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		call string
		want int64
	}{
		{"[allow=1]", 0},
		{"[local=1]", 0},
		{"[deny=1]", 1},
		{"[error=1]", 1},
		{"[allow=1] [deny=1]", 1},
		{"[allow=1] [error=1]", 1},
		{"[local=1]{hits=99}", 1}, // denied by the share
		{"[allow=1] [local=1]", 0},
	} {
		store := new(halfway)
		w := newWorld(t, onePolicyEach, func(o *rls.Options, _ *descriptors.Options) { o.Store = store })
		answer := w.call(test.call)
		if got := store.returned.Load(); got != test.want {
			t.Errorf("%s: given back %d times, want %d; %s", test.call, got, test.want, answer)
		}
		store.works.Store(true)
		store.returned.Store(0)
		w.call(test.call)
		if got := store.returned.Load(); got != 0 {
			t.Errorf("%s: a call that was decided has something to return", test.call)
		}
	}
}
