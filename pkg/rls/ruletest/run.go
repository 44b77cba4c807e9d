package ruletest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

// Result is the outcome of one test.
type Result struct {
	Test     *Test
	Failures []Failure // none if it passed
}

// Failure is a step whose answer is another than expected.
type Failure struct {
	Place       descriptors.Place
	At          time.Duration // since the start of the test
	Step        int           // of the test, from 1
	Call, Calls int           // which of the step's calls it was, from 1
	Diffs       []Diff
	Explanation *explain.Explanation

	uniform bool // all calls up to this have the same code
}

// Diff is one field that is another than expected.
type Diff struct {
	Field     string
	Want, Got string

	node *descriptors.Node // where Want stands
}

// Run runs one test on these rules. What the calls met is noted in met, which may
// be nil.
func (s *Suite) Run(t *Test, set *descriptors.Ruleset, met *Coverage) Result {
	w := newWorld(t.start, set, s.Reference)
	defer w.close()
	result := Result{Test: t}
	for i := range t.steps {
		if failure := w.run(&t.steps[i], met); failure != nil {
			failure.Step = i + 1
			result.Failures = append(result.Failures, *failure)
		}
	}
	return result
}

// world is a server with a clock that steps set.
type world struct {
	start        time.Time
	now          atomic.Int64 // µs since 1970
	down         bool         // the store does not answer
	store, local *memstore.Store
	explainer    explain.Explainer
	answer       rls.Answer
}

// testBuckets is room enough for any test.
const testBuckets = 1_000_000

func newWorld(start time.Time, set *descriptors.Ruleset, reference bool) *world {
	w := &world{start: start}
	w.store = memstore.New(memstore.Options{Now: w.now.Load, MaxBuckets: testBuckets})
	w.local = memstore.New(memstore.Options{Now: w.now.Load, MaxBuckets: testBuckets})
	w.explainer.Limiter = rls.NewLimiter(rls.Options{
		Store:     switched{w.store, &w.down},
		Local:     w.local,
		Reference: reference,
		Headers:   rls.HeaderOptions{RateLimit: true, XRateLimit: true, Rule: true},
		Now:       func() time.Time { return time.UnixMicro(w.now.Load()) },
	})
	w.explainer.Limiter.Install(set)
	return w
}

func (w *world) close() {
	w.store.Close()
	w.local.Close()
}

// switched is a store that can be told not to answer.
type switched struct {
	buckets.Store
	down *bool
}

func (s switched) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	if !*s.down {
		s.Store.Decide(ctx, budget, calls)
		return
	}
	for _, call := range calls {
		call.Err = &buckets.StoreError{Kind: buckets.KindConnection, Err: errors.New("down")}
	}
}

// run makes the calls of a step. Each must have the code that is expected; the
// rest is expected of the last. It tells of the first call that differs, or of the
// last if all have the same code.
func (w *world) run(s *step, met *Coverage) *Failure {
	w.now.Store(w.start.Add(s.at).UnixMicro())
	w.down = s.storeDown
	var first *Failure
	uniform, code := true, ""
	for call := 1; call <= s.times; call++ {
		x, err := w.explainer.Call(context.Background(), &s.request, &w.answer)
		met.note(x)
		got := observe(x, err, &w.answer)
		if call == 1 {
			code = got.get("code")
		}
		uniform = uniform && got.get("code") == code
		diffs := s.expect.compare(got, call == s.times)
		if len(diffs) > 0 && (first == nil || call == s.times && uniform) {
			first = &Failure{Place: s.place, At: s.at, Call: call, Calls: s.times, Diffs: diffs, Explanation: x, uniform: uniform}
		}
	}
	return first
}
