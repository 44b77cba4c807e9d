package memstore

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// DefaultMaxBuckets is the bound on buckets where none is given.
const DefaultMaxBuckets = 1_000_000

// Options say how a store works. The zero value is a store with all defaults.
type Options struct {
	// MaxBuckets bounds the number of buckets; 0 is DefaultMaxBuckets. More than
	// 2^31 are as 2^31.
	MaxBuckets int
	// Now is the clock, in microseconds since the Unix epoch; nil is the wall
	// clock. It is called with shards locked and must not call the store.
	Now func() int64

	// For tests only.
	keepStale bool          // drop nothing because it became fresh
	stepEvery time.Duration // the pace of the slow pass
}

// Store keeps buckets in memory. It implements [buckets.Store] and is safe for
// concurrent use.
type Store struct {
	now       func() int64
	most      int64
	keepStale bool

	seeds  [2]maphash.Seed
	shards []shard

	len       atomic.Int64
	evictions atomic.Uint64
	evicting  sync.Mutex // held while room is made

	closed  atomic.Bool
	stop    chan struct{}
	stopped chan struct{}
}

var _ buckets.Store = (*Store)(nil)

// New makes an empty store and starts its slow pass, which Close ends.
func New(o Options) *Store {
	if o.MaxBuckets <= 0 {
		o.MaxBuckets = DefaultMaxBuckets
	}
	o.MaxBuckets = min(o.MaxBuckets, maxBuckets)
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMicro() }
	}
	if o.stepEvery == 0 {
		o.stepEvery = stepEvery
	}
	s := &Store{
		now:       o.Now,
		most:      int64(o.MaxBuckets),
		keepStale: o.keepStale,
		seeds:     [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		shards:    make([]shard, shardCount(o.MaxBuckets)),
		stop:      make(chan struct{}),
		stopped:   make(chan struct{}),
	}
	go s.pass(o.stepEvery)
	return s
}

// Decide decides each call at once, in this goroutine. It never waits for
// anything but other calls on the same shards, so neither ctx nor budget keeps
// a call from its answer.
func (s *Store) Decide(_ context.Context, _ time.Duration, calls []*buckets.Call) {
	if s.closed.Load() {
		for _, call := range calls {
			call.Err = &buckets.StoreError{Kind: buckets.KindClosed}
		}
		return
	}
	w := works.Get().(*work)
	for _, call := range calls {
		s.decide(w, call)
	}
	works.Put(w)
	if s.len.Load() > s.most {
		s.makeRoom()
	}
}

func (s *Store) decide(w *work, call *buckets.Call) {
	w.plan(s, call)
	for _, i := range w.shards {
		s.shards[i].mu.Lock()
	}
	defer s.release(w)
	for i, id := range w.ids {
		w.table[i].State = s.shardOf(id).load(id, w.isLog[i])
	}
	now := s.now()
	buckets.Decide(call, w.table, w.slots, now)
	for i := range w.table {
		s.keep(w.ids[i], &w.table[i], now)
	}
}

func (s *Store) release(w *work) {
	for _, i := range w.shards {
		s.shards[i].mu.Unlock()
	}
	w.reset()
}

// keep stores a bucket that a call wrote. Its shard is locked.
func (s *Store) keep(id bucketID, b *buckets.Bucket, now int64) {
	if !b.Written {
		return
	}
	shard := s.shardOf(id)
	if b.FreshAtMicros <= now {
		s.len.Add(int64(-shard.drop(id)))
		return
	}
	if added := shard.store(id, b); added > 0 {
		if !s.keepStale {
			added -= shard.dropStale(now, lookedAtOnInsert)
		}
		s.len.Add(int64(added))
	}
}

// Peek returns the state of a bucket as it was last written; false if there is
// none. It ages nothing.
func (s *Store) Peek(key []byte) (buckets.State, bool) {
	id := s.identify(key)
	shard := s.shardOf(id)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	return shard.peek(id)
}

// Len is the number of buckets in the store.
func (s *Store) Len() int { return int(s.len.Load()) }

// Evictions counts the buckets that were dropped for want of room though they
// were not fresh.
func (s *Store) Evictions() uint64 { return s.evictions.Load() }

// Close ends the slow pass. Calls after it fail with KindClosed. It may be
// called more than once.
func (s *Store) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.stop)
	}
	<-s.stopped
	return nil
}

func (s *Store) identify(key []byte) bucketID {
	return bucketID{maphash.Bytes(s.seeds[0], key), maphash.Bytes(s.seeds[1], key)}
}

func (s *Store) shardIndex(id bucketID) int { return int(id[0] & uint64(len(s.shards)-1)) }

func (s *Store) shardOf(id bucketID) *shard { return &s.shards[s.shardIndex(id)] }
