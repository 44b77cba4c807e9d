package denied

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest"
)

const budget = 30 * time.Second

// world is a cache before a store, and beside it the same store without one.
// Asking the store takes time: a way there and a way back.
type world struct {
	t          *testing.T
	cache      *Cache
	store      *storetest.Plain
	control    *storetest.Plain
	storeNow   int64
	cacheNow   int64
	there, way int64
	asked      int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, store: storetest.NewPlain(), control: storetest.NewPlain(), storeNow: 1_767_225_600_000_000}
	w.cache = New(w, newMemory(func() int64 { return w.cacheNow }))
	return w
}

// Decide is the store behind the cache.
func (w *world) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	w.pass(w.there)
	w.asked += len(calls)
	w.store.SetNow(w.storeNow)
	w.store.Decide(ctx, budget, calls)
	w.pass(w.way)
}

func (w *world) Close() error { return w.store.Close() }

func (w *world) pass(micros int64) {
	w.storeNow += micros
	w.cacheNow += micros
}

// decide has both decide and returns the answers: of the cache, and of the
// control at the time at which the cache's store decided or would have.
func (w *world) decide(items ...buckets.Item) (got, want *buckets.Call, cached bool) {
	got = &buckets.Call{Items: items}
	want = &buckets.Call{Items: append([]buckets.Item(nil), items...)}
	before := w.asked
	w.control.SetNow(w.storeNow)
	control := func() { w.control.Decide(context.Background(), budget, []*buckets.Call{want}) }
	at := w.storeNow + w.there
	w.cache.Decide(context.Background(), budget, []*buckets.Call{got})
	cached = w.asked == before
	if !cached {
		w.control.SetNow(at)
	}
	control()
	return got, want, cached
}

func item(name string, l *buckets.Limit, hits uint64) buckets.Item {
	var keyer buckets.Keyer
	key := keyer.Append(nil, "d", []buckets.Entry{{Key: "k", Value: name}}, nil, l)
	return buckets.Item{Key: key, Limit: l, Hits: l.Clamp(hits)}
}

func tenAMinute(t *testing.T, a buckets.Algorithm) *buckets.Limit {
	t.Helper()
	l := &buckets.Limit{Algorithm: a, Amount: 10, Burst: 10, WindowMicros: 60_000_000}
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	return l
}

// A cache never changes who is denied, nor what is charged; a denial of its own
// tells a wait that suffices.
func TestSameDecisions(t *testing.T) {
	t.Parallel()
	for _, a := range buckets.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, uint64(a)))
			answered := uint64(0)
			for range 60 {
				w := newWorld(t)
				limits := storetest.RandomLimits(rng, a)
				if a == buckets.GCRA {
					// Its time, read under an amount far below, may pass for a fault,
					// which is mended by whoever sees it: a call that is not asked
					// does so later.
					limits = limits[:1]
				}
				w.live(rng, limits)
				answered += w.cache.Answered()
			}
			if answered < 50 { // it is about 200
				t.Errorf("only %d calls were answered from memory", answered)
			}
		})
	}
}

// live passes 100 calls. In every second world the store's clock runs back a
// little now and then: that makes waits longer than was told.
func (w *world) live(rng *rand.Rand, limits []*buckets.Limit) {
	steady := rng.IntN(2) == 0
	for step := range 100 {
		w.there, w.way = rng.Int64N(3000), rng.Int64N(3000)
		w.pass(rng.Int64N([]int64{1, 1000, 300_000, 2_000_000}[rng.IntN(4)]) + 1)
		if !steady && step%10 == 9 {
			w.storeNow -= rng.Int64N(300_000)
		}
		items := w.randomItems(rng, limits)
		got, want, cached := w.decide(items...)
		if why := differ(got, want, cached, steady); why != "" {
			w.t.Fatalf("step %d, cached %v: %s\n got %+v\nwant %+v", step, cached, why, got, want)
		}
	}
}

func (w *world) randomItems(rng *rand.Rand, limits []*buckets.Limit) []buckets.Item {
	var items []buckets.Item
	l := limits[rng.IntN(len(limits))*rng.IntN(2)]
	for range 1 + rng.IntN(2) {
		one := item(fmt.Sprint(rng.IntN(2)), l, []uint64{1, 1, 1, 2, l.Amount/2 + 1, l.Capacity(), 2 * l.Capacity()}[rng.IntN(7)])
		one.Role = []buckets.Role{buckets.Enforced, buckets.Enforced, buckets.Enforced, buckets.Shadow, buckets.Quota}[rng.IntN(5)]
		switch rng.IntN(12) {
		case 0:
			one.Op = buckets.Refund
		case 1:
			one.Op, one.Hits = buckets.Look, min(one.Hits, 1)
		case 2:
			one.Charged = true
		}
		if l.Calendar != nil {
			one.Bounds = l.Calendar.Bounds(w.storeNow)
		}
		items = append(items, one)
	}
	return items
}

// never is beyond all waits that are told exactly.
const never = 1 << 51

// differ says what is wrong with an answer.
func differ(got, want *buckets.Call, cached, steady bool) string {
	if !cached {
		return cmp.Diff(want.Items, got.Items, cmp.Transformer("limit", func(l *buckets.Limit) string { return fmt.Sprintf("%p", l) }))
	}
	if got.Denied != want.Denied {
		return "denied differs"
	}
	for i, item := range got.Items {
		told, truth := item.Verdict, want.Items[i].Verdict
		exact := steady && (len(got.Items) == 1 || string(got.Items[0].Key) != string(got.Items[1].Key))
		switch {
		case told.Charged || truth.Charged:
			return "charged"
		case told.Unasked && told.Allowed:
		case told.Allowed || truth.Allowed:
			return "a verdict of memory that the store does not give"
		case exact && told.Remaining > truth.Remaining:
			return "more remaining than there is"
		case exact && told.ResetMicros < min(truth.ResetMicros, never) && item.Hits <= item.Limit.Capacity():
			return "a wait that is too short"
		}
	}
	return ""
}

// One who hammers asks the store once a second, and as soon as there is room.
func TestAsksOnceASecond(t *testing.T) {
	t.Parallel()
	for _, a := range buckets.Algorithms() {
		w := newWorld(t)
		l := tenAMinute(t, a)
		w.decide(item("x", l, 10))
		for range 5000 {
			w.pass(1000)
			if got, _, _ := w.decide(item("x", l, 1)); !got.Denied {
				t.Fatalf("%v: allowed after %d µs", a, w.cacheNow)
			}
		}
		if w.asked > 7 {
			t.Errorf("%v: the store was asked %d times in 5 s", a, w.asked)
		}
	}
}

// The call's other limits pass bare and uncharged, and a remembered denial among
// them is told as well.
func TestOtherLimitsAreNotAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := tenAMinute(t, buckets.FixedWindow)
	w.decide(item("full", l, 10))
	w.decide(item("full", l, 1))
	got, _, cached := w.decide(item("full", l, 2), item("other", l, 1))
	if !cached || !got.Denied || got.Items[0].Verdict.Allowed {
		t.Errorf("cached %v: %+v", cached, got)
	}
	if v := got.Items[1].Verdict; v != (buckets.Verdict{Allowed: true, Unasked: true}) {
		t.Errorf("the other limit: %+v", v)
	}
	if got, _, cached := w.decide(item("other", l, 10)); cached || got.Denied {
		t.Errorf("the other bucket was charged: %+v", got)
	}
}

// What this process gives back is seen by the next call, also if a denial was
// under way meanwhile.
func TestGiveBackIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := tenAMinute(t, buckets.GCRA)
	w.decide(item("x", l, 10))
	w.decide(item("x", l, 1))
	refund := item("x", l, 5)
	refund.Op = buckets.Refund
	w.decide(refund)
	if got, _, cached := w.decide(item("x", l, 1)); cached || got.Denied {
		t.Errorf("after a refund: cached %v, %+v", cached, got)
	}
	late := item("x", l, 9)
	late.Verdict = buckets.Verdict{ResetMicros: 30_000_000}
	sent := w.cacheNow
	w.pass(10)
	w.cache.memory.Forget(late.Key)
	w.cache.memory.remember(&late, sent, w.cacheNow)
	if w.cache.memory.denies(&late, w.cacheNow) {
		t.Error("a denial from before the give-back is remembered")
	}
}

// Another process that gives back is followed within a second.
func TestFollowsOthersWithinASecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := tenAMinute(t, buckets.FixedWindow)
	w.decide(item("x", l, 10))
	w.decide(item("x", l, 1))
	refund := item("x", l, 5)
	refund.Op = buckets.Refund
	w.store.Decide(context.Background(), budget, []*buckets.Call{{Items: []buckets.Item{refund}}})
	w.pass(longest.Microseconds())
	if got, _, _ := w.decide(item("x", l, 1)); got.Denied {
		t.Errorf("still denied after a second: %+v", got)
	}
}

// A limit with another amount is asked for, whatever was remembered.
func TestChangedAmountIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := tenAMinute(t, buckets.TokenBucket)
	w.decide(item("x", l, 10))
	w.decide(item("x", l, 1))
	raised := *l
	raised.Amount, raised.Burst = 100, 100
	if err := raised.Prepare(); err != nil {
		t.Fatal(err)
	}
	if got, _, cached := w.decide(item("x", &raised, 1)); cached || got.Denied {
		t.Errorf("cached %v: %+v", cached, got)
	}
}

// Only the calls that memory decides leave the list.
func TestSomeOfAList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := tenAMinute(t, buckets.FixedWindow)
	w.decide(item("full", l, 10))
	w.decide(item("full", l, 1))
	var calls []*buckets.Call
	for i := range 6 {
		name := []string{"full", "free"}[i%2]
		calls = append(calls, &buckets.Call{Items: []buckets.Item{item(name, l, 1)}})
	}
	before := w.asked
	w.cache.Decide(context.Background(), budget, calls)
	if w.asked-before != 3 {
		t.Errorf("%d of 6 calls were asked for, want 3", w.asked-before)
	}
	for i, call := range calls {
		if call.Denied != (i%2 == 0) {
			t.Errorf("call %d: %+v", i, call)
		}
	}
}

// A call that memory denies allocates nothing.
func TestAllocations(t *testing.T) {
	w := newWorld(t)
	l := tenAMinute(t, buckets.GCRA)
	w.decide(item("x", l, 10))
	w.decide(item("x", l, 1))
	call := &buckets.Call{Items: []buckets.Item{item("x", l, 1)}}
	calls := []*buckets.Call{call}
	if n := testing.AllocsPerRun(1000, func() { w.cache.Decide(context.Background(), budget, calls) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Of denials that were under way together, the one of the smallest cost is kept:
// it decides the others, too.
func TestSmallestCostIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := tenAMinute(t, buckets.GCRA)
	one, five := item("x", l, 1), item("x", l, 5)
	for _, it := range []*buckets.Item{&one, &five} {
		it.Verdict = buckets.Verdict{ResetMicros: 30_000_000}
		w.cache.memory.remember(it, w.cacheNow, w.cacheNow)
	}
	if !w.cache.memory.denies(&one, w.cacheNow) || !w.cache.memory.denies(&five, w.cacheNow) {
		t.Error("the denial of one hit was pushed out by that of five")
	}
}
