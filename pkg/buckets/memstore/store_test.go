package memstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const second = 1_000_000

// clock is a clock that tests set.
type clock struct{ micros atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.micros.Store(1_700_000_000 * second)
	return c
}

func (c *clock) now() int64           { return c.micros.Load() }
func (c *clock) advance(micros int64) { c.micros.Add(micros) }

func open(t testing.TB, o Options) *Store {
	t.Helper()
	s := New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func perMinute(t testing.TB, a buckets.Algorithm, amount uint64) *buckets.Limit {
	t.Helper()
	l := &buckets.Limit{Algorithm: a, Amount: amount, WindowMicros: 60 * second}
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	return l
}

func take(s *Store, l *buckets.Limit, hits uint64, keys ...string) *buckets.Call {
	call := new(buckets.Call)
	for _, key := range keys {
		call.Items = append(call.Items, buckets.Item{Key: []byte(key), Limit: l, Hits: hits})
	}
	s.Decide(context.Background(), time.Second, []*buckets.Call{call})
	return call
}

func TestBucketsOfOneKeyAreOne(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Now: newClock().now})
	l := perMinute(t, buckets.TokenBucket, 3)
	for i, want := range []uint64{2, 1, 0} {
		call := take(s, l, 1, "a")
		if call.Denied || call.Items[0].Verdict.Remaining != want {
			t.Errorf("call %d: denied %v, remaining %d, want %d", i, call.Denied, call.Items[0].Verdict.Remaining, want)
		}
	}
	if call := take(s, l, 1, "a"); !call.Denied || call.Items[0].Verdict.ResetMicros != 20*second {
		t.Errorf("fourth call: %+v", call)
	}
	if call := take(s, l, 1, "b"); call.Denied {
		t.Error("another bucket was denied")
	}
	if s.Len() != 2 {
		t.Errorf("Len() = %d, want 2", s.Len())
	}
}

func TestPeekReadsWhatWasWritten(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Now: newClock().now})
	take(s, perMinute(t, buckets.SlidingWindowLog, 3), 2, "log")
	state, ok := s.Peek([]byte("log"))
	if !ok || state.Count != 2 || len(state.Log) != 1 || state.Log[0].Hits != 2 {
		t.Errorf("Peek = %+v, %v", state, ok)
	}
	state.Log[0].Hits = 99 // a copy
	if again, _ := s.Peek([]byte("log")); again.Log[0].Hits != 2 {
		t.Error("Peek shares its log with the store")
	}
	if _, ok := s.Peek([]byte("other")); ok {
		t.Error("Peek found a bucket that nobody wrote")
	}
}

func TestCallsAfterCloseFail(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	l := perMinute(t, buckets.TokenBucket, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var failure *buckets.StoreError
	if call := take(s, l, 1, "a"); !errors.As(call.Err, &failure) || failure.Kind != buckets.KindClosed {
		t.Errorf("Err = %v, want KindClosed", call.Err)
	}
}

func TestDoneContextAndNoBudgetStillGetAnAnswer(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	call := &buckets.Call{Items: []buckets.Item{{Key: []byte("a"), Limit: perMinute(t, buckets.GCRA, 3), Hits: 1}}}
	s.Decide(ctx, 0, []*buckets.Call{call})
	if call.Err != nil || !call.Items[0].Verdict.Charged {
		t.Errorf("call = %+v", call)
	}
}

func TestFreshBucketsAreDropped(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Now: clock.now, stepEvery: time.Hour})
	l := perMinute(t, buckets.FixedWindow, 3)
	for i := range 100_000 {
		take(s, l, 1, fmt.Sprint(i))
	}
	clock.advance(60 * second)
	for i := range s.shards {
		s.sweep(&s.shards[i])
	}
	if s.Len() != 0 || s.Evictions() != 0 {
		t.Errorf("Len() = %d, Evictions() = %d after all windows ended", s.Len(), s.Evictions())
	}
	for i := range s.shards {
		if sh := &s.shards[i]; len(sh.chunks) > 0 || len(sh.index) > 0 {
			t.Fatalf("shard %d still holds %d chunks and an index of %d", i, len(sh.chunks), len(sh.index))
		}
	}
}

func TestSlowPassRunsByItself(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Now: clock.now, stepEvery: time.Millisecond})
	take(s, perMinute(t, buckets.LeakyBucket, 3), 1, "a")
	clock.advance(60 * second)
	for deadline := time.Now().Add(time.Minute); s.Len() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a fresh bucket is still there after a minute")
		}
	}
}

func TestNewBucketsPushOutFreshOnes(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Now: clock.now, stepEvery: time.Hour}) // no slow pass
	l := perMinute(t, buckets.TokenBucket, 1)
	for i := range 200_000 {
		take(s, l, 1, fmt.Sprint(i))
		clock.advance(60 * second / 1000) // so that 1,000 are not fresh
	}
	if s.Len() > 20_000 {
		t.Errorf("Len() = %d with 1,000 buckets in use", s.Len())
	}
}

func TestMaxBuckets(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 7, 100, 5000} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			s := open(t, Options{MaxBuckets: most, Now: newClock().now})
			l := perMinute(t, buckets.TokenBucket, 1000)
			for range 50 {
				take(s, l, 10, "heavy")
			}
			for i := range 3 * most {
				take(s, l, 1, fmt.Sprint(i))
				take(s, l, 1, "heavy")
				if s.Len() > most {
					t.Fatalf("Len() = %d", s.Len())
				}
			}
			if s.Evictions() == 0 {
				t.Error("no eviction was counted")
			}
			// What is dropped is what forgets the least.
			if state, ok := s.Peek([]byte("heavy")); most > 8 && (!ok || state.Count < 500) {
				t.Errorf("the fullest bucket of %d was dropped: %+v", most, state)
			}
		})
	}
}

// TestEverythingAtOnce has calls, evictions, sweeps and looks from outside run
// side by side; the race detector and the counts judge.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	const most = 2000
	clock := newClock()
	s := open(t, Options{MaxBuckets: most, Now: clock.now, stepEvery: 10 * time.Microsecond})
	limits := []*buckets.Limit{perMinute(t, buckets.TokenBucket, 9), perMinute(t, buckets.SlidingWindowLog, 9), perMinute(t, buckets.GCRA, 9)}
	var done sync.WaitGroup
	for worker := range 8 {
		done.Go(func() {
			for i := range 5000 {
				l := limits[i%len(limits)]
				name := func(n int) string { return fmt.Sprint(l.Algorithm, n%4000) }
				take(s, l, 1, name(i*7+worker), name(i*13), name(i*13))
				if i%50 == 0 {
					clock.advance(second)
					s.Peek([]byte(name(i)))
				}
			}
		})
	}
	done.Wait()
	if err := s.Close(); err != nil { // so that the slow pass rests
		t.Fatal(err)
	}
	held, logs := 0, 0
	for i := range s.shards {
		sh := &s.shards[i] // at rest: no lock is needed
		held += sh.len
		if sh.logs == nil {
			continue
		}
		for id := range sh.logs.byID {
			logs++
			if e, _ := sh.find(id); e == nil {
				t.Error("a log without its entry")
			}
		}
	}
	if held != s.Len() || held > most || logs == 0 {
		t.Errorf("%d buckets and %d logs, Len() = %d, at most %d", held, logs, s.Len(), most)
	}
}

// TestShardsAreLockedInOrder: each once and ascending, or calls could wait for
// each other in a circle.
func TestShardsAreLockedInOrder(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	call := new(buckets.Call)
	for i := range 500 {
		call.Items = append(call.Items, buckets.Item{Key: fmt.Appendf(nil, "%d", i%300), Limit: perMinute(t, buckets.GCRA, 9)})
	}
	w := new(work)
	w.plan(s, call)
	if len(w.ids) != 300 || len(w.slots) != 500 {
		t.Errorf("%d buckets for %d items", len(w.ids), len(w.slots))
	}
	for i := 1; i < len(w.shards); i++ {
		if w.shards[i-1] >= w.shards[i] {
			t.Fatalf("shard %d is locked before %d", w.shards[i-1], w.shards[i])
		}
	}
}

func TestAllocations(t *testing.T) {
	s := open(t, Options{})
	for _, a := range buckets.Algorithms() {
		if a == buckets.SlidingWindowLog {
			continue // its log grows
		}
		call := benchCall(t, a)
		calls := []*buckets.Call{call}
		ctx := context.Background()
		got := testing.AllocsPerRun(2000, func() { s.Decide(ctx, time.Second, calls) })
		if int(got) > allocationsAllowed {
			t.Errorf("%v: %v allocations a decision, want %d", a, got, allocationsAllowed)
		}
	}
}

func benchCall(t testing.TB, a buckets.Algorithm) *buckets.Call {
	amount := uint64(1_000_000)
	if a == buckets.SlidingWindowLog {
		amount = 100
	}
	l := perMinute(t, a, amount)
	call := new(buckets.Call)
	for i := range 3 {
		call.Items = append(call.Items, buckets.Item{Key: fmt.Appendf(nil, "rls1:{shop|user=%d}:%v:60", i, a), Limit: l, Hits: 1})
	}
	return call
}

func BenchmarkDecide(b *testing.B) {
	for _, a := range buckets.Algorithms() {
		for _, items := range []int{1, 3} {
			b.Run(fmt.Sprintf("%v/%d", a, items), func(b *testing.B) {
				s := open(b, Options{})
				call := benchCall(b, a)
				call.Items = call.Items[:items]
				calls := []*buckets.Call{call}
				b.ReportAllocs()
				for b.Loop() {
					s.Decide(context.Background(), time.Second, calls)
				}
			})
		}
	}
}

// BenchmarkDecideParallel spreads calls of two buckets over 100,000.
func BenchmarkDecideParallel(b *testing.B) {
	s := open(b, Options{})
	l := perMinute(b, buckets.TokenBucket, 1_000_000)
	var keys [100_000][]byte
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "rls1:{shop|user=%d}:token_bucket:60", i)
	}
	var worker atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		n := int(worker.Add(1)) * 7919
		call := &buckets.Call{Items: []buckets.Item{{Limit: l, Hits: 1}, {Limit: l, Hits: 1}}}
		calls := []*buckets.Call{call}
		for pb.Next() {
			n++
			call.Items[0].Key, call.Items[1].Key = keys[n%len(keys)], keys[n*31%len(keys)]
			s.Decide(context.Background(), time.Second, calls)
		}
	})
}

// BenchmarkSweep is how long the slow pass holds a lock: a step over one shard of
// a full store.
func BenchmarkSweep(b *testing.B) {
	clock := newClock()
	s := open(b, Options{Now: clock.now, stepEvery: time.Hour})
	l := perMinute(b, buckets.TokenBucket, 10)
	for i := range DefaultMaxBuckets {
		take(s, l, 1, fmt.Sprint(i))
	}
	n := 0
	for b.Loop() {
		s.sweep(&s.shards[n%len(s.shards)])
		n++
	}
	b.ReportMetric(float64(s.Len())/float64(len(s.shards)), "buckets/step")
}
