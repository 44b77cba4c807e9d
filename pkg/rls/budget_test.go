package rls_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// hung is a store that never answers: a call waits out its budget.
type hung struct{ budgets chan time.Duration }

func (h hung) Decide(_ context.Context, budget time.Duration, calls []*buckets.Call) {
	h.budgets <- budget
	time.Sleep(budget)
	for _, call := range calls {
		call.Err = &buckets.StoreError{Kind: buckets.KindTimeout}
	}
}

func (hung) Close() error { return nil }

const onePolicyEach = `
domain: d
descriptors:
- {key: error, rate_limit: {unit: minute, requests_per_unit: 9, on_store_error: error}}
- {key: allow, rate_limit: {unit: minute, requests_per_unit: 9, on_store_error: allow}}
- {key: deny, rate_limit: {unit: minute, requests_per_unit: 9, on_store_error: deny}}
- {key: local, rate_limit: {unit: minute, requests_per_unit: 9, on_store_error: local}}
`

// TestBudget: a call waits for the store as long as the setting says, and never
// past its deadline less a quarter, at most 5 ms.
func TestBudget(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		name                    string
		setting, deadline, want time.Duration // 0 = none
	}{
		{"no deadline", 30 * ms, 0, 30 * ms},
		{"no setting, no deadline", 0, 0, 100 * ms},
		{"a far deadline", 30 * ms, time.Minute, 30 * ms},
		{"Envoy's 20 ms leave 15", 0, 20 * ms, 15 * ms},
		{"of 8 ms a quarter is kept", 0, 8 * ms, 6 * ms},
		{"of a second 5 ms", 2000 * ms, 1000 * ms, 995 * ms},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				took, budget := allowedAfter(t, test.setting, test.deadline)
				if took != test.want || budget != test.want {
					t.Errorf("answered after %v with a budget of %v, want %v", took, budget, test.want)
				}
			})
		})
	}
}

// TestExpiredDeadline: the policy answers at once.
func TestExpiredDeadline(t *testing.T) {
	t.Parallel()
	for _, deadline := range []time.Duration{-1, -time.Second, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			took, budget := allowedAfter(t, 0, deadline)
			if took != 0 || budget > 0 {
				t.Errorf("answered after %v with a budget of %v", took, budget)
			}
		})
	}
}

// allowedAfter is how long a call waits for a store that hangs until its policy
// lets it pass, and the budget that the store was given.
func allowedAfter(t *testing.T, setting, deadline time.Duration) (took, budget time.Duration) {
	t.Helper()
	store := hung{make(chan time.Duration, 1)}
	w := newWorld(t, onePolicyEach, func(o *rls.Options, _ *descriptors.Options) {
		o.Store, o.Budget = store, setting
	})
	ctx := context.Background()
	if deadline != 0 {
		with, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		ctx = with
	}
	begin := time.Now()
	var ans rls.Answer
	if err := w.Decide(ctx, parseCall(t, "[allow=1]"), &ans); err != nil || ans.Code != rls.OK {
		t.Errorf("%v, %s", err, describe(&ans))
	}
	return time.Since(begin), <-store.budgets
}

// TestM6StoreFailureIsAnErrorWithItsCause: UNAVAILABLE, with no key material in
// the text.
func TestM6StoreFailureIsAnErrorWithItsCause(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onePolicyEach, nil)
	for _, kind := range []buckets.ErrorKind{buckets.KindTimeout, buckets.KindConnection, buckets.KindBreaker, buckets.KindClosed} {
		w.fails.fail(kind)
		err := w.Decide(context.Background(), parseCall(t, "[error=s3cret]"), new(rls.Answer))
		var failed *rls.Error
		if !errors.As(err, &failed) || failed.Kind != rls.Unavailable || strings.Contains(err.Error(), "s3cret") {
			t.Fatalf("%s: %v", kind, err)
		}
		var cause *buckets.StoreError
		if !errors.As(err, &cause) || cause.Kind != kind {
			t.Errorf("%s: the cause is %v", kind, cause)
		}
	}
	w.fails.recover()
	w.want("[error=s3cret]", "OK | OK of 9/minute left 8 reset 7s")
}

// foreign fails in a way of its own.
type foreign struct{ hung }

func (foreign) Decide(_ context.Context, _ time.Duration, calls []*buckets.Call) {
	calls[0].Err = errors.New("unheard of")
}

func TestForeignStoreErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onePolicyEach, func(o *rls.Options, _ *descriptors.Options) { o.Store = foreign{} })
	err := w.Decide(context.Background(), parseCall(t, "[error=1]"), new(rls.Answer))
	var cause *buckets.StoreError
	if !errors.As(err, &cause) || cause.Kind != buckets.KindScript {
		t.Errorf("%v, caused by %v", err, cause)
	}
}

// TestLocalStoreFails: local is error then, and nothing passes unseen.
func TestLocalStoreFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onePolicyEach, nil)
	w.fails.fail(buckets.KindTimeout)
	w.want("[local=1]", "OK | OK of 9/minute left 8 reset 7s")
	if err := w.local.Close(); err != nil {
		t.Fatal(err)
	}
	err := w.Decide(context.Background(), parseCall(t, "[local=1]"), new(rls.Answer))
	var cause *buckets.StoreError
	if !errors.As(err, &cause) || cause.Kind != buckets.KindTimeout {
		t.Errorf("%v, caused by %v: want the failure that came first", err, cause)
	}
	w.fails.recover()
	w.want("[error=1]", "OK | OK of 9/minute left 8 reset 7s") // nothing of it stays
	w.fails.fail(buckets.KindTimeout)
	w.want("[local=1] [deny=1]", "OVER | OK | OVER of 9/minute left 0 reset 1s")
	w.want("[local=1] [allow=1]", "UNAVAILABLE: the store of the limits does not answer")
}
