package redisstore

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

const (
	// callers with a call each callerEvery make 1,000 calls a second.
	callers     = 50
	callerEvery = 50 * time.Millisecond
	loadBudget  = 100 * time.Millisecond

	// calm is how long no call may fail before service counts as whole.
	calm = 400 * time.Millisecond
	// wholeWithin is the bound on the return to service, on a machine that wakes
	// its processes in time: see load.patience.
	wholeWithin = time.Second
)

// tally is what is known of one bucket: hits that surely were charged, and hits
// of failed calls, which may have been.
type tally struct{ answered, failed uint64 }

// load is traffic on a store while something happens to Redis. Its limit never
// denies and its buckets do not expire, so that Redis' count can be held against
// the answers.
type load struct {
	t     *testing.T
	store *Store
	limit *buckets.Limit
	stop  chan struct{}
	ended sync.WaitGroup

	began  time.Time
	lasted time.Duration // once it has ended

	mu          sync.Mutex
	calls       int // a caller that waits in vain skips ticks
	tallies     map[string]tally
	kinds       map[buckets.ErrorKind]int
	slowest     time.Duration
	stalled     time.Duration // how late this process was woken at worst
	lastFailure time.Time
	lastOK      map[string]time.Time

	goroutines int // before
}

// startLoad has callers ask for the buckets that keys name, one list after the
// other. It returns when each has been decided once.
func startLoad(t *testing.T, s *Store, keys ...[]string) *load {
	t.Helper()
	awaitAnswer(t, s)
	l := &load{
		t: t, store: s, stop: make(chan struct{}),
		limit:   &buckets.Limit{Algorithm: buckets.FixedWindow, Amount: buckets.MaxAmount, WindowMicros: 86400_000_000, Align: buckets.AlignFirstHit, Unbounded: true},
		tallies: map[string]tally{}, kinds: map[buckets.ErrorKind]int{}, lastOK: map[string]time.Time{},
	}
	if err := l.limit.Prepare(); err != nil {
		t.Fatal(err)
	}
	for _, list := range keys {
		l.call(list)
	}
	l.goroutines, l.began = runtime.NumGoroutine(), time.Now()
	for i := range callers {
		l.ended.Go(func() { l.run(i, keys) })
	}
	l.ended.Go(l.watchStalls)
	t.Cleanup(l.end)
	time.Sleep(200 * time.Millisecond)
	return l
}

func (l *load) run(i int, keys [][]string) {
	time.Sleep(time.Duration(i) * callerEvery / callers) // evenly, not all at once
	tick := time.NewTicker(callerEvery)
	defer tick.Stop()
	for {
		i++
		l.call(keys[i%len(keys)])
		select {
		case <-tick.C:
		case <-l.stop:
			return
		}
	}
}

// watchStalls measures how late timers fire: that is no fault of the store.
func (l *load) watchStalls() {
	const step = 5 * time.Millisecond
	for last := time.Now(); ; {
		select {
		case <-time.After(step):
		case <-l.stop:
			return
		}
		now := time.Now()
		l.mu.Lock()
		l.stalled = max(l.stalled, now.Sub(last)-step)
		l.mu.Unlock()
		last = now
	}
}

func (l *load) call(keys []string) {
	call := new(buckets.Call)
	for _, key := range keys {
		call.Items = append(call.Items, buckets.Item{Key: []byte(key), Limit: l.limit, Hits: 1})
	}
	begin := time.Now()
	l.store.Decide(context.Background(), loadBudget, []*buckets.Call{call})
	end := time.Now()
	if call.Err != nil && call.Return != nil {
		call.Return()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, end.Sub(begin))
	l.calls++
	if call.Err != nil {
		l.kinds[kindOf(call)]++
		l.lastFailure = end
	}
	for _, key := range keys {
		tally := l.tallies[key]
		if call.Err != nil {
			tally.failed++
		} else {
			tally.answered++
			l.lastOK[key] = end
		}
		l.tallies[key] = tally
	}
}

// awaitWhole waits until all buckets are decided again and no call fails, and
// logs how long after the given moment the last failed.
func (l *load) awaitWhole(since time.Time) {
	l.t.Helper()
	for !l.isWhole(since) {
		if patience := l.patience(); time.Since(since) > patience+calm {
			l.mu.Lock()
			kinds := maps.Clone(l.kinds)
			l.mu.Unlock()
			l.t.Fatalf("service is not whole %v after its cause is gone: %v", patience, kinds)
		}
		time.Sleep(10 * time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Logf("whole again after %v; errors: %v", max(0, l.lastFailure.Sub(since)).Round(time.Millisecond), l.kinds)
}

// patience is wholeWithin and, where this process was woken late, some more: what
// leads back to service are several steps, each of which may have been late.
func (l *load) patience() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return wholeWithin + 8*l.stalled
}

func (l *load) isWhole(since time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(since) < calm || now.Sub(l.lastFailure) < calm {
		return false
	}
	for _, at := range l.lastOK {
		if now.Sub(at) > calm {
			return false
		}
	}
	return true
}

func (l *load) end() {
	select {
	case <-l.stop:
	default:
		close(l.stop)
		l.lasted = time.Since(l.began)
	}
	l.ended.Wait()
}

// outcome is what a test expects of a load.
type outcome struct {
	read    func(t testing.TB, key string) []byte
	servers []*redistest.Server // whose keys must all expire
	kinds   []buckets.ErrorKind // of the errors that may be
	lost    bool                // Redis has lost data: it may know of fewer hits
	// lostHits bounds, if it is not 0, how many hits that were answered Redis may
	// have lost with a master.
	lostHits uint64
}

// check ends the load and holds what Redis has against what was answered.
func (l *load) check(want outcome) {
	l.t.Helper()
	l.end()
	if l.slowest > loadBudget+slack+l.stalled {
		l.t.Errorf("a call took %v of a budget of %v", l.slowest, loadBudget)
	}
	if l.stalled > loadBudget/2 { // calls may have waited for the machine
		want.kinds = append(slices.Clip(want.kinds), buckets.KindTimeout, buckets.KindBreaker)
	}
	for kind, n := range l.kinds {
		if !slices.Contains(want.kinds, kind) {
			l.t.Errorf("%d calls failed with %q", n, kind)
		}
	}
	if rate := float64(l.calls) / l.lasted.Seconds(); rate < 800 && l.stalled <= loadBudget/2 {
		l.t.Errorf("the load was %.0f calls a second, want about 1,000", rate)
	} else {
		l.t.Logf("%.0f calls a second", rate)
	}
	answered, failed, missing := uint64(0), uint64(0), uint64(0)
	for key, tally := range l.tallies {
		charged := l.settled(key, want.read)
		if charged > tally.answered+tally.failed || charged < tally.answered && !want.lost && want.lostHits == 0 {
			l.t.Errorf("%s: %d hits charged; %d answered, %d failed", key, charged, tally.answered, tally.failed)
		}
		missing += tally.answered - min(charged, tally.answered)
		answered, failed = answered+tally.answered, failed+tally.failed
	}
	if want.lostHits > 0 && missing > want.lostHits {
		l.t.Errorf("Redis knows nothing of %d hits that were answered, want at most %d", missing, want.lostHits)
	}
	l.t.Logf("%d hits answered, %d failed, slowest call %v (stalled %v), %d dials, give-backs %d, lost %d; Redis lost %d hits", answered, failed,
		l.slowest.Round(time.Millisecond), l.stalled.Round(time.Millisecond), l.store.Stats().Dials, l.store.Stats().GivenBack, l.store.Stats().GiveBacksLost, missing)
	l.checkGoroutines()
	checkAllExpire(l.t, want.servers)
}

// settled is the count of a bucket once nothing is under way.
func (l *load) settled(key string, read func(t testing.TB, key string) []byte) uint64 {
	l.t.Helper()
	const quiet = 50 * time.Millisecond
	last, same := uint64(0), 0
	for deadline := time.Now().Add(5 * time.Second); same < 4; {
		if time.Now().After(deadline) {
			l.t.Errorf("%s: the count does not come to rest", key)
			break
		}
		count := uint64(0)
		if value := read(l.t, key); value != nil {
			state, err := buckets.ParseState(buckets.FixedWindow, value)
			if err != nil {
				l.t.Fatal(err)
			}
			count = state.Count
		}
		if count != last {
			last, same = count, 0
		}
		if same++; len(l.tallies) > 8 && same > 1 { // the keys before took long enough
			break
		}
		time.Sleep(quiet)
	}
	return last
}

func (l *load) checkGoroutines() {
	l.t.Helper()
	const spare = 5
	now := 0
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if now = runtime.NumGoroutine(); now <= l.goroutines+spare {
			return
		}
	}
	l.t.Errorf("%d goroutines, %d before", now, l.goroutines)
}

func checkAllExpire(t *testing.T, servers []*redistest.Server) {
	t.Helper()
	for _, server := range servers {
		client := server.Client()
		for cursor := "0"; ; {
			page := client.MustDo(t, "SCAN", cursor, "COUNT", "1000").([]any)
			for _, key := range page[1].([]any) {
				if ttl := client.MustDo(t, "PTTL", key.(string)).(int64); ttl == -1 {
					t.Errorf("%v never expires", key)
				}
			}
			if cursor = page[0].(string); cursor == "0" {
				break
			}
		}
	}
}

// loadKeys names buckets, in a cluster on as many slots.
func loadKeys(n int) [][]string {
	var keys [][]string
	for i := range n {
		keys = append(keys, []string{fmt.Sprintf("rls1:{load|n=%d}:fixed_window:86400", i)})
	}
	return keys
}
