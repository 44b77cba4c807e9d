package redisstore

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// The reply to a batch is lost: its calls have run, none is sent again, and each
// caller is told that its own is uncertain. On one server the batch is one run of
// the script; in a cluster it is one for each slot, and those whose replies came
// before the end are answered.
func TestLostReplyOfABatch(t *testing.T) {
	ways := []string{"drop", "cut", "close"}
	t.Run("OneServer", func(t *testing.T) {
		server := redistest.Start(t)
		link := newLink(t, server.Addr)
		for _, how := range ways {
			t.Run(how, func(t *testing.T) {
				loseBatch(t, open(t, Options{Addrs: []string{link.addr}, Lanes: 1}), link, server, how, 1)
			})
		}
	})
	t.Run("Cluster", func(t *testing.T) {
		link := newLink(t, "")
		server := clusterBehind(t, link)
		for _, how := range ways {
			t.Run(how, func(t *testing.T) {
				s := open(t, Options{Kind: Cluster, Addrs: []string{link.addr}, Lanes: 1})
				awaitAnswer(t, s)
				loseBatch(t, s, link, server, how, 8)
			})
		}
	})
}

// clusterBehind runs a cluster of one node, whose address is that of the link.
func clusterBehind(t *testing.T, link *link) *redistest.Server {
	t.Helper()
	_, port, _ := net.SplitHostPort(link.addr)
	server := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", port)
	link.server.Store(server.Addr)
	admin := server.Client()
	admin.MustDo(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	return server
}

// batchCalls is how many calls are lost at once.
const batchCalls = 40

// loseBatch has calls on several buckets queue behind one that is slow, so that
// they are sent together, and loses what is answered.
func loseBatch(t *testing.T, s *Store, link *link, server *redistest.Server, how string, runs int) {
	t.Helper()
	const budget = 600 * time.Millisecond
	l := perHour(t, 1000)
	wait(t, s, l)
	key := func(i int) string { return fmt.Sprintf("rls1:{batch|how=%s|n=%d}:fixed_window:3600", how, i%runs) }
	link.delay.Store(int64(200 * time.Millisecond))
	first := make(chan error, 1)
	go func() {
		call, _ := take(s, 5*time.Second, l, "rls1:{first}:fixed_window:3600")
		first <- call.Err
	}()
	until(t, "the first call is under way", func() bool { return s.Stats().BusyLanes == 1 })
	before := commands(t, server)
	answered := make([]uint64, runs)
	var mu sync.Mutex
	var callers sync.WaitGroup
	for i := range batchCalls {
		callers.Go(func() {
			call, took := take(s, budget, l, key(i))
			mu.Lock()
			defer mu.Unlock()
			if call.Err == nil {
				answered[i%runs]++
			}
			if took > budget+slack {
				t.Errorf("a call took %v of a budget of %v", took, budget)
			}
		})
	}
	until(t, "the others wait", func() bool { return s.Stats().Queued == batchCalls })
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	link.spoil.Store(how)
	callers.Wait()
	link.spoil.Store("")
	link.delay.Store(0)
	if n := commands(t, server) - before; n > runs+1 { // and the first
		t.Errorf("the script ran %d times, want %d", n, runs+1)
	}
	wait(t, s, l) // whole again, and nothing was kept for later
	total := uint64(0)
	for i := range runs {
		total += answered[i]
		state, err := buckets.ParseState(buckets.FixedWindow, server.Client().Get(t, key(i)))
		if err != nil {
			t.Fatal(err)
		}
		if want := uint64(batchCalls / runs); state.Count != want {
			t.Errorf("%s: %d hits charged, want %d", key(i), state.Count, want)
		}
	}
	if some := runs > 1 && how == "cut"; (total > 0) != some || total == batchCalls {
		t.Errorf("%d of %d calls were answered", total, batchCalls)
	}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}
