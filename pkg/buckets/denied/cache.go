package denied

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// longest is how long a denial is remembered at most.
const longest = time.Second

// Cache is a [buckets.Store] before another one. A call that a remembered denial
// decides is denied at once and charges nothing; the limits that were not asked
// pass, with [buckets.Verdict].Unasked.
//
// Such a denial tells what the store told: Remaining is as of then, ResetMicros
// counts on from when the store had answered. For a larger cost than the one
// that was denied it is at most too long. What other processes charged since is
// not in it, nor is a step of the store's clock.
type Cache struct {
	store    buckets.Store
	memory   *Memory
	answered atomic.Uint64
}

var _ buckets.Store = (*Cache)(nil)

// New puts a cache before a store, which it closes when it is closed.
func New(store buckets.Store, memory *Memory) *Cache {
	return &Cache{store: store, memory: memory}
}

// Answered counts the calls that were denied without the store.
func (c *Cache) Answered() uint64 { return c.answered.Load() }

// Close closes the store.
func (c *Cache) Close() error { return c.store.Close() }

// Decide implements [buckets.Store].
func (c *Cache) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	sentMicros := c.memory.now()
	asked := c.unanswered(calls, sentMicros)
	if len(asked) == 0 {
		return
	}
	c.store.Decide(ctx, budget, asked)
	for _, call := range asked {
		c.learn(call, sentMicros)
	}
}

// unanswered are the calls that memory does not decide.
func (c *Cache) unanswered(calls []*buckets.Call, nowMicros int64) []*buckets.Call {
	for i, call := range calls {
		if !c.deny(call, nowMicros) {
			continue
		}
		asked := append([]*buckets.Call(nil), calls[:i]...)
		for _, call := range calls[i+1:] {
			if !c.deny(call, nowMicros) {
				asked = append(asked, call)
			}
		}
		return asked
	}
	return calls
}

// deny denies a call if one of its buckets is remembered to, and nothing of the
// call has to reach the store nonetheless.
func (c *Cache) deny(call *buckets.Call, nowMicros int64) bool {
	denied := false
	for i := range call.Items {
		item := &call.Items[i]
		if item.Charged || !asks(item) {
			return false
		}
		denied = denied || item.Role == buckets.Enforced && c.memory.denies(item, nowMicros)
	}
	if !denied {
		return false
	}
	for i := range call.Items {
		c.memory.tell(&call.Items[i], nowMicros)
	}
	call.Denied, call.Err, call.Return = true, nil, nil
	c.answered.Add(1)
	return true
}

// asks tells whether an item only asks for room.
func asks(item *buckets.Item) bool {
	return item.Op == buckets.Take || item.Op == buckets.Look
}

// learn remembers what denied a call, and forgets the buckets that it changed.
func (c *Cache) learn(call *buckets.Call, sentMicros int64) {
	for i := range call.Items {
		switch item := &call.Items[i]; {
		case !asks(item):
			c.memory.Forget(item.Key)
		case call.Err == nil && call.Denied && tells(call, i):
			c.memory.remember(item, sentMicros, c.memory.now())
		case call.Err != nil || item.Verdict.Charged:
			c.memory.outdate(item.Key)
		}
	}
}

// maxLearned bounds the limits of a call that is learnt from.
const maxLearned = 32

// tells tells whether an item was denied for what its bucket holds, and not for
// what the same call had taken before.
func tells(call *buckets.Call, i int) bool {
	item := &call.Items[i]
	if item.Role != buckets.Enforced || item.Charged || item.Verdict.Allowed ||
		item.Hits == 0 || item.Hits > item.Limit.Capacity() || len(call.Items) > maxLearned {
		return false
	}
	for j := range call.Items {
		if j != i && string(call.Items[j].Key) == string(item.Key) {
			return false
		}
	}
	return true
}
