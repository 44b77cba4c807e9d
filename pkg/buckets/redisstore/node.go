package redisstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// node is one Redis server: the queue before it, the lanes to it, the breaker,
// and the probe that asks whether it is back.
type node struct {
	store    *Store
	name     string // for logs
	resolve  func(context.Context) (string, error)
	queue    *queue
	breaker  *breaker
	lanes    []*lane
	readonly atomic.Int64 // until when it is taken for read-only, in ns since the store began

	closing  chan struct{}
	closed   sync.Once
	finished sync.WaitGroup
}

func newNode(s *Store, name string, resolve func(context.Context) (string, error)) *node {
	n := &node{
		store:   s,
		name:    name,
		resolve: resolve,
		queue:   newQueue(s.opt.QueueCalls),
		breaker: newBreaker(),
		closing: make(chan struct{}),
	}
	for range s.opt.Lanes {
		n.lanes = append(n.lanes, newLane(n))
	}
	return n
}

// start runs lanes and probe. The topology must have the node by then: they tell
// it what they meet.
func (n *node) start() {
	for _, l := range n.lanes {
		n.finished.Go(l.run)
	}
	n.finished.Go(n.probe)
}

// send queues a call; it fails it at once if there is no use.
func (n *node) send(p *pending) {
	p.queuedAt = n.store.since()
	switch {
	case n.breaker.isOpen.Load():
		p.answer(&buckets.StoreError{Kind: buckets.KindBreaker})
	case n.readonly.Load() > p.queuedAt:
		p.answer(&buckets.StoreError{Kind: buckets.KindReadonly})
	case n.queue.push(p):
	case n.isClosed():
		p.answer(n.goneError())
	default:
		p.answer(&buckets.StoreError{Kind: buckets.KindOverload})
	}
}

// goneError is why a closed node does not decide: the store is closed, or the
// cluster has no use for the node any more.
func (n *node) goneError() *buckets.StoreError {
	if n.store.isClosed() {
		return &buckets.StoreError{Kind: buckets.KindClosed}
	}
	return &buckets.StoreError{Kind: buckets.KindCluster}
}

// failed counts a failure. If that opens the breaker, those that wait in the
// queue are told at once.
func (n *node) failed(err *buckets.StoreError) {
	if n.isClosed() {
		return
	}
	if n.store.topology.slotted() {
		n.store.topology.suspect()
	}
	if !n.breaker.failure() {
		return
	}
	n.store.opt.Logger.Warn("Redis does not answer: calls are decided by policy until it does",
		"server", n.name, "error", err.Error(), "hint", "is it up, and reachable from here?")
	open := &buckets.StoreError{Kind: buckets.KindBreaker}
	for _, p := range n.queue.drain() {
		p.answer(open)
	}
}

func (n *node) recovered() {
	n.store.answered.Store(true)
	if n.breaker.success() {
		n.store.opt.Logger.Info("Redis answers again", "server", n.name)
	}
}

// redial has each lane open a new connection for its next run.
func (n *node) redial() {
	for _, l := range n.lanes {
		l.stale.Store(true)
	}
}

// close ends lanes and probe. What waits goes to the node that has its slot now,
// or fails. Runs under way have until patience is over.
func (n *node) close(patience time.Duration) {
	n.closed.Do(func() {
		close(n.closing)
		n.queue.close()
		for _, p := range n.queue.drain() {
			n.pass(p)
		}
		cut := time.AfterFunc(patience, func() {
			for _, l := range n.lanes {
				l.client.Load().Close()
				l.abort(0)
			}
		})
		n.finished.Wait()
		cut.Stop()
	})
}

// pass hands a call on when the node is no longer used.
func (n *node) pass(p *pending) {
	home := n.home(p)
	if p.hops++; home == n || p.hops > maxHops || n.store.isClosed() {
		p.answer(n.goneError())
		return
	}
	home.send(p)
}

func (n *node) isClosed() bool {
	select {
	case <-n.closing:
		return true
	default:
		return false
	}
}
