package redisstore

import (
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// While the one connection waits for Redis, calls wait for the connection: the
// operator is told both times apart.
func TestQueueWait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var mu sync.Mutex
	var trips []RoundTrip
	s := open(t, Options{Addrs: []string{server.Addr}, Lanes: 1, Observe: func(r RoundTrip) {
		mu.Lock()
		defer mu.Unlock()
		trips = append(trips, r)
	}})
	l := perHour(t, 1000)
	take(s, 10*time.Second, l, "rls1:{a}:1") // the connection is open, the script is there
	const hangs = 300 * time.Millisecond
	server.Signal(syscall.SIGSTOP)
	var calls sync.WaitGroup
	for _, key := range []string{"rls1:{a}:1", "rls1:{b}:1"} {
		calls.Go(func() { take(s, 10*time.Second, l, key) })
		time.Sleep(hangs / 3) // the second finds the connection taken
	}
	time.Sleep(hangs)
	server.Signal(syscall.SIGCONT)
	calls.Wait()
	seen := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(trips)
	}
	for deadline := time.Now().Add(10 * time.Second); seen() < 3 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // callers have their answers first
	}
	mu.Lock()
	defer mu.Unlock()
	if len(trips) != 3 {
		t.Fatalf("%d round trips, want 3: %+v", len(trips), trips)
	}
	if first := trips[1]; first.Took < hangs || first.Waited > hangs/2 || first.Calls != 1 || first.Kind != "" {
		t.Errorf("the call that Redis kept waiting: %+v", first)
	}
	if second := trips[2]; second.Waited < hangs {
		t.Errorf("the call that waited for the connection: %+v", second)
	}
}
