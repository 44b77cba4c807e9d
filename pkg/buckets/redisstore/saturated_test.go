package redisstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// saturation is how long the shared bucket is watched, after a second in which
// it loses its burst and the store learns who is denied.
const saturation = 20 * time.Second

// Most calls are denied by their users' buckets, and a bucket that all share is
// on another slot. What they take of it for a moment must not starve the others.
func TestDeniedCallsDoNotStarveASharedBucket(t *testing.T) {
	cluster := redistest.StartCluster(t)
	for _, a := range []buckets.Algorithm{buckets.TokenBucket, buckets.FixedWindow} {
		t.Run(a.String(), func(t *testing.T) {
			s := open(t, Options{Kind: Cluster, Addrs: cluster.Addrs()})
			awaitAnswer(t, s)
			c := &crowd{t: t, store: s, own: perHour(t, 1)}
			c.shared = buckets.Item{
				Key:   []byte("rls1:{shared}:" + a.String()),
				Limit: prepare(t, buckets.Limit{Algorithm: a, Amount: 100, WindowMicros: 1_000_000}), Hits: 1,
			}
			c.gather()
			limit := 100 * int(saturation/time.Second)
			t.Logf("%d allowed of %d; %d denied, %d new users; give-backs %d", c.allowed, limit, c.denied, c.fresh, s.Stats().GivenBack)
			if c.fresh < limit { // a nominal 2·limit
				t.Fatalf("only %d calls of new users: the bucket is not saturated", c.fresh)
			}
			if c.allowed*100 < limit*99 {
				t.Errorf("%d calls allowed, want 99 %% of %d", c.allowed, limit)
			}
			if most := limit + 100; c.allowed > most { // what a bucket had saved
				t.Errorf("%d calls allowed, at most %d may be", c.allowed, most)
			}
		})
	}
}

// crowd are users of which most have had the one hit that is theirs.
type crowd struct {
	t      *testing.T
	store  *Store
	shared buckets.Item
	own    *buckets.Limit

	mu                     sync.Mutex
	from                   int64 // when counting begins, by the time of Redis: the start of a second
	users                  int
	allowed, denied, fresh int
}

// gather makes 2,000 calls a second, every tenth by a new user.
func (c *crowd) gather() {
	var group sync.WaitGroup
	end := time.Now().Add(saturation + 2200*time.Millisecond)
	for worker := range 20 {
		group.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for i := worker; time.Now().Before(end); i++ {
				if i%10 == 0 {
					c.decide(c.newUser(), true)
				} else {
					c.decide(fmt.Sprintf("greedy%d", (worker*31+i)%50), false)
				}
				<-tick.C
			}
		})
	}
	group.Wait()
}

func (c *crowd) newUser() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	return fmt.Sprintf("new%d", c.users)
}

func (c *crowd) decide(user string, isNew bool) {
	own := buckets.Item{Key: fmt.Appendf(nil, "rls1:{user=%s}:%s", user, c.shared.Key), Limit: c.own, Hits: 1}
	call := &buckets.Call{Items: []buckets.Item{c.shared, own}}
	c.store.Decide(context.Background(), 5*time.Second, []*buckets.Call{call})
	if call.Err != nil {
		c.t.Error(call.Err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := call.Items[0].Verdict.AtMicros
	if c.from == 0 {
		c.from = at - at%1_000_000 + 2_000_000
	}
	switch {
	case at < c.from || at >= c.from+saturation.Microseconds():
		return
	case call.Denied:
		c.denied++
	default:
		c.allowed++
	}
	if isNew {
		c.fresh++
	}
}

func prepare(t *testing.T, l buckets.Limit) *buckets.Limit {
	t.Helper()
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	return &l
}
