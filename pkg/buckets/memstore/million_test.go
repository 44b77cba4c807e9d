package memstore

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// million is how many buckets the measurements of this file are taken at.
const million = 1_000_000

// asker asks a store about numbered buckets, as one goroutine does, without
// memory of its own for each name: that would be measured with the store's.
type asker struct {
	store *Store
	call  *buckets.Call
	calls []*buckets.Call
	name  []byte
}

const namePrefix = "rls1:{bench|user="

func newAsker(s *Store, l *buckets.Limit) *asker {
	a := &asker{store: s, name: append([]byte(namePrefix+"0000000}:"), l.Algorithm.String()...)}
	a.call = &buckets.Call{Items: []buckets.Item{{Key: a.name, Limit: l, Hits: 1}}}
	a.calls = []*buckets.Call{a.call}
	return a
}

func (a *asker) ask(n int) {
	for i := len(namePrefix) + 6; i >= len(namePrefix); i-- {
		a.name[i] = '0' + byte(n%10)
		n /= 10
	}
	a.store.Decide(context.Background(), time.Second, a.calls)
}

// slowLimit is one whose buckets stay in use for as long as a test runs.
func slowLimit(t testing.TB, a buckets.Algorithm) *buckets.Limit {
	t.Helper()
	l := &buckets.Limit{Algorithm: a, Amount: 1000, WindowMicros: 365 * 86400 * second}
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestBytesABucket prints and bounds what a store of a million buckets takes.
func TestBytesABucket(t *testing.T) {
	for a, most := range map[buckets.Algorithm]float64{
		buckets.GCRA: 64, buckets.FixedWindow: 64, buckets.TokenBucket: 96, buckets.SlidingWindowCounter: 96,
	} {
		before := heapBytes()
		s := open(t, Options{Now: newClock().now, stepEvery: time.Hour})
		asker := newAsker(s, slowLimit(t, a))
		for i := range million {
			asker.ask(i)
		}
		if s.Len() != million {
			t.Fatalf("%v: Len() = %d", a, s.Len())
		}
		bytes := float64(heapBytes()-before) / million
		t.Logf("%v: %.1f bytes a bucket", a, bytes)
		if bytes > most {
			t.Errorf("%v: %.1f bytes a bucket, want at most %v", a, bytes, most)
		}
		runtime.KeepAlive(s)
	}
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC() // the first only empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMillion is what a decision of one gcra bucket costs at a million of
// them; -cpu 1,2 has one and two threads ask.
func BenchmarkMillion(b *testing.B) {
	zipf := zipfNumbers(1 << 20)
	for _, draw := range []struct {
		name string
		next func(r *rand.Rand, i int) int
	}{
		{"uniform", func(r *rand.Rand, _ int) int { return r.IntN(million) }},
		{"zipf", func(r *rand.Rand, _ int) int { return int(zipf[r.Uint32()&(1<<20-1)]) }},
		{"hot", func(*rand.Rand, int) int { return 4711 }},
	} {
		b.Run(draw.name, func(b *testing.B) {
			s := open(b, Options{stepEvery: time.Hour})
			l := slowLimit(b, buckets.GCRA)
			fill := newAsker(s, l)
			for i := range million {
				fill.ask(i)
			}
			var threads atomic.Uint64
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				r := rand.New(rand.NewPCG(1, threads.Add(1)))
				asker := newAsker(s, l)
				for i := 0; pb.Next(); i++ {
					asker.ask(draw.next(r, i))
				}
			})
		})
	}
}

// BenchmarkInsert is a decision of a bucket that is new, growth included, up to a
// million of them.
func BenchmarkInsert(b *testing.B) {
	l := slowLimit(b, buckets.GCRA)
	for range b.N {
		s := open(b, Options{stepEvery: time.Hour})
		asker := newAsker(s, l)
		for i := range million {
			asker.ask(i)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/bucket")
}

// zipfNumbers draws bucket numbers of which the n-th comes 1/n as often as the
// first.
func zipfNumbers(n int) []uint32 {
	r := rand.New(rand.NewPCG(1, 1))
	numbers := make([]uint32, n)
	for i := range numbers {
		numbers[i] = uint32(math.Pow(million, r.Float64())) - 1
	}
	return numbers
}

// BenchmarkSweepAllStale is the worst case of the slow pass: all buckets of a
// full store became fresh. It reports the longest that one lock was held.
func BenchmarkSweepAllStale(b *testing.B) {
	var holds []time.Duration
	hold := func(f func()) {
		begin := time.Now()
		f()
		holds = append(holds, time.Since(begin))
	}
	for range b.N {
		clock := newClock()
		s := open(b, Options{Now: clock.now, stepEvery: time.Hour})
		asker := newAsker(s, perMinute(b, buckets.TokenBucket, 10))
		for i := range million {
			asker.ask(i)
		}
		clock.advance(60 * second)
		for i := range s.shards {
			for sh := &s.shards[i]; sh.len > 0; {
				hold(func() { s.len.Add(int64(-sh.dropStale(clock.now(), sweepStep))) })
			}
			hold(s.shards[i].shrink)
		}
	}
	slices.Sort(holds)
	b.ReportMetric(float64(holds[len(holds)/2].Nanoseconds())/1000, "µs/hold-p50")
	b.ReportMetric(float64(holds[len(holds)*999/1000].Nanoseconds())/1000, "µs/hold-p99.9")
}
