package redisstore

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// inVain is how long a caller must have waited for its leaving to count
// against Redis: a caller in a hurry says nothing about the store.
const inVain = 10 * time.Millisecond

// Store is a [buckets.Store] on one Redis.
type Store struct {
	opt     Options
	script  string
	sha     string
	seed    maphash.Seed
	start   time.Time
	queue   *queue
	breaker *breaker
	lanes   []*lane
	stats   counters

	closing  chan struct{}
	close    sync.Once
	finished sync.WaitGroup
	answered atomic.Bool
}

var _ buckets.Store = (*Store)(nil)

// New starts a store. It does not wait for Redis; see [Store.Answered].
func New(opt Options) (*Store, error) {
	if err := opt.fill(); err != nil {
		return nil, err
	}
	script := buckets.Script()
	quiet()
	sum := sha1.Sum([]byte(script))
	s := &Store{
		opt:     opt,
		script:  script,
		sha:     hex.EncodeToString(sum[:]),
		seed:    maphash.MakeSeed(),
		start:   time.Now().Add(-time.Nanosecond),
		queue:   newQueue(opt.QueueCalls),
		breaker: newBreaker(),
		closing: make(chan struct{}),
	}
	for range opt.Lanes {
		l := newLane(s)
		s.lanes = append(s.lanes, l)
		s.finished.Go(l.run)
	}
	s.finished.Go(s.probe)
	return s, nil
}

// Decide implements [buckets.Store].
func (s *Store) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	var few [4]*pending
	sent := few[:0]
	for _, call := range calls {
		sent = append(sent, s.send(call))
	}
	timer := newTimer(budget)
	defer freeTimer(timer)
	begin := s.since()
	var gone error
	for i, p := range sent {
		if p == nil {
			continue // Err is set
		}
		if gone == nil {
			select {
			case <-p.done:
				p.take(calls[i])
				continue
			case <-timer.C:
				gone = s.waitedInVain(time.Duration(s.since() - begin))
			case <-ctx.Done():
				gone = &buckets.StoreError{Kind: buckets.KindCanceled, Err: ctx.Err()}
			}
		}
		if p.abandon() {
			calls[i].Err = gone
			continue
		}
		<-p.done
		p.take(calls[i])
	}
}

// send queues a call, or says in it why not and returns nil.
func (s *Store) send(call *buckets.Call) *pending {
	if s.breaker.isOpen.Load() {
		call.Err = &buckets.StoreError{Kind: buckets.KindBreaker}
		return nil
	}
	p := newPending(call)
	if s.queue.push(p) {
		return p
	}
	p.recycle()
	call.Err = &buckets.StoreError{Kind: buckets.KindOverload}
	if s.isClosed() {
		call.Err = &buckets.StoreError{Kind: buckets.KindClosed}
	}
	return nil
}

func (s *Store) waitedInVain(waited time.Duration) error {
	err := &buckets.StoreError{Kind: buckets.KindTimeout}
	if waited >= inVain {
		s.failed(err)
	}
	return err
}

// failed counts a failure. If that opens the breaker, those that wait in the
// queue are told at once.
func (s *Store) failed(err *buckets.StoreError) {
	if s.isClosed() || !s.breaker.failure() {
		return
	}
	s.opt.Logger.Warn("Redis does not answer: calls are decided by policy until it does",
		"address", s.opt.Addr, "error", err.Error(), "hint", "is it up, and reachable from here?")
	open := &buckets.StoreError{Kind: buckets.KindBreaker}
	for _, p := range s.queue.drain() {
		p.answer(open)
	}
}

func (s *Store) recovered() {
	s.answered.Store(true)
	if s.breaker.success() {
		s.opt.Logger.Info("Redis answers again", "address", s.opt.Addr)
	}
}

// Answered tells whether Redis has ever answered.
func (s *Store) Answered() bool { return s.answered.Load() }

// Healthy tells whether Redis is being asked: the breaker is closed.
func (s *Store) Healthy() bool { return s.answered.Load() && !s.breaker.isOpen.Load() }

// Close fails what waits and ends lanes and probe. Runs under way are cut off.
func (s *Store) Close() error {
	s.close.Do(func() {
		close(s.closing)
		s.queue.close()
		closed := &buckets.StoreError{Kind: buckets.KindClosed}
		for _, p := range s.queue.drain() {
			p.answer(closed)
		}
		for _, l := range s.lanes {
			l.client.Close()
		}
		s.finished.Wait()
	})
	return nil
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// since is the monotonic time in ns since the store began; never 0.
func (s *Store) since() int64 { return int64(time.Since(s.start)) }

var timers = sync.Pool{New: func() any { return time.NewTimer(time.Hour) }}

func newTimer(d time.Duration) *time.Timer {
	t := timers.Get().(*time.Timer)
	t.Reset(d)
	return t
}

func freeTimer(t *time.Timer) {
	t.Stop()
	timers.Put(t)
}
