package rls_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// start is where the clock of a test begins: 2026-01-01T00:00:00Z, a boundary
// of seconds, minutes, hours and days.
const start = 1_767_225_600_000_000

// clock is a clock that tests set. Two stores and the limiter may share it.
type clock struct{ micros atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.micros.Store(start)
	return c
}

func (c *clock) nowMicros() int64     { return c.micros.Load() }
func (c *clock) now() time.Time       { return time.UnixMicro(c.micros.Load()).UTC() }
func (c *clock) wait(d time.Duration) { c.micros.Add(d.Microseconds()) }

// world is a limiter on the embedded store, with a clock that tests set.
type world struct {
	*clock
	*rls.Limiter
	t     testing.TB
	store *memstore.Store
	local *memstore.Store
	opt   rls.Options
	rules descriptors.Options
	fails *failing // stands before the store
}

// newWorld installs rules. adjust may be nil; it changes the options.
func newWorld(t testing.TB, text string, adjust func(*rls.Options, *descriptors.Options)) *world {
	t.Helper()
	w := &world{clock: newClock(), t: t}
	w.store, w.local = w.memory(), w.memory()
	t.Cleanup(w.close)
	w.fails = &failing{Store: careful{w.store, t}}
	w.opt = rls.Options{Store: w.fails, Local: careful{w.local, t}, Now: w.now}
	if adjust != nil {
		adjust(&w.opt, &w.rules)
	}
	if w.opt.Reference {
		w.rules.Algorithm, w.rules.DeniedHits, w.rules.Unbounded = buckets.FixedWindow, descriptors.DeniedCharged, true
	}
	w.Limiter = rls.NewLimiter(w.opt)
	w.Install(w.compile(text))
	return w
}

func (w *world) memory() *memstore.Store {
	return memstore.New(memstore.Options{Now: w.nowMicros})
}

// close ends the stores; the end of the test does so too.
func (w *world) close() {
	for _, s := range []*memstore.Store{w.store, w.local} {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

// compile compiles rules that are right.
func (w *world) compile(text string) *descriptors.Ruleset {
	w.t.Helper()
	set, diagnostics := descriptors.Compile([]descriptors.File{{Name: "rules.yaml", Data: []byte(text)}}, nil, w.rules)
	for _, d := range diagnostics {
		if d.Severity == descriptors.Error {
			w.t.Fatalf("rules: %s", d)
		}
	}
	return set
}

// call decides a call in the notation of parseCall and writes the answer down.
func (w *world) call(line string) string {
	w.t.Helper()
	return w.decide(parseCall(w.t, line))
}

func (w *world) decide(req *rls.Request) string {
	var ans rls.Answer
	if err := w.Decide(context.Background(), req, &ans); err != nil {
		return describeError(err)
	}
	return describe(&ans)
}

// answer decides a call that must be decided.
func (w *world) answer(line string) *rls.Answer {
	w.t.Helper()
	ans := new(rls.Answer)
	if err := w.Decide(context.Background(), parseCall(w.t, line), ans); err != nil {
		w.t.Fatalf("%s: %v", line, err)
	}
	return ans
}

// want decides a call and compares its answer.
func (w *world) want(line, answer string) {
	w.t.Helper()
	if got := w.call(line); got != answer {
		w.t.Errorf("%s\n got %s\nwant %s", line, got, answer)
	}
}

// used is how many hits are in the buckets of the limits that a descriptor
// meets, as last written.
func (w *world) used(domain string, desc *rls.Descriptor) []uint64 {
	rule := w.Ruleset().Domain(domain).Match(desc.Entries).Rule
	if rule == nil {
		return nil
	}
	var used []uint64
	for _, l := range rule.Limits {
		state, _ := w.store.Peek(w.opt.Keyer.Append(nil, domain, desc.Entries, rule.Marks, &l.Bucket))
		used = append(used, state.Count)
	}
	return used
}

// failing is a store that can be told to fail, and counts its calls.
type failing struct {
	buckets.Store
	kind  atomic.Pointer[buckets.ErrorKind] // nil: works
	calls atomic.Int64
}

func (f *failing) fail(kind buckets.ErrorKind) { f.kind.Store(&kind) }
func (f *failing) recover()                    { f.kind.Store(nil) }

func (f *failing) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	f.calls.Add(1)
	kind := f.kind.Load()
	if kind == nil {
		f.Store.Decide(ctx, budget, calls)
		return
	}
	for _, call := range calls {
		call.Denied = true // means nothing beside an error
		call.Err = &buckets.StoreError{Kind: *kind, Err: errors.New("down")}
	}
}

// careful is a store that looks at what it is asked.
type careful struct {
	buckets.Store
	t testing.TB
}

func (c careful) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	for _, call := range calls {
		if call.Err != nil || len(call.Items) == 0 {
			c.t.Errorf("asked with error %v and %d items", call.Err, len(call.Items))
		}
		for _, item := range call.Items {
			calendar := item.Limit.Align == buckets.AlignCalendar
			if len(item.Key) == 0 || item.Hits != item.Limit.Clamp(item.Hits) || calendar != (item.Bounds != nil) {
				c.t.Errorf("asked for %+v", item)
			}
		}
	}
	c.Store.Decide(ctx, budget, calls)
}
