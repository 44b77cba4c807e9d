package memstore

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	// passSteps steps, stepEvery apart, walk all shards: about 10 s.
	passSteps = 512
	stepEvery = 20 * time.Millisecond

	// sweepStep is how many buckets are looked at under one lock: also where all
	// of them are dropped, that takes well below 100 µs.
	sweepStep = 256

	lookedAtOnInsert  = 2
	sampledOnEviction = 8
)

// pass walks the shards over and over and drops what became fresh, one shard
// locked at a time, until Close.
func (s *Store) pass(every time.Duration) {
	defer close(s.stopped)
	tick := time.NewTicker(every)
	defer tick.Stop()
	next := 0
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		if s.keepStale || s.len.Load() == 0 {
			continue
		}
		for range max(1, len(s.shards)/passSteps) {
			s.sweep(&s.shards[next])
			next = (next + 1) % len(s.shards)
		}
	}
}

// sweep looks once at as many buckets as a shard holds, sweepStep under one
// lock, drops those that became fresh and gives memory back.
func (s *Store) sweep(sh *shard) {
	left := 0
	sh.locked(func() { left = sh.len })
	for ; left > 0; left -= sweepStep {
		sh.locked(func() { s.len.Add(int64(-sh.dropStale(s.now(), sweepStep))) })
	}
	sh.locked(sh.shrink)
}

func (sh *shard) locked(f func()) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	f()
}

// makeRoom drops buckets until there are no more than most. No shard is locked
// when it is called, so for a moment a store may hold more, by the new buckets
// of the calls that run.
func (s *Store) makeRoom() {
	s.evicting.Lock()
	defer s.evicting.Unlock()
	for s.len.Load() > s.most {
		s.evict()
	}
}

// evict drops the bucket nearest to fresh of those it samples, from as many
// shards as it takes.
func (s *Store) evict() {
	nearest := entry{freshAtMicros: math.MaxInt64}
	sampled := 0
	from := rand.IntN(len(s.shards))
	for i := 0; i < len(s.shards) && sampled < sampledOnEviction; i++ {
		sh := &s.shards[(from+i)&(len(s.shards)-1)]
		sh.mu.Lock()
		sampled += sh.sample(&nearest, sampledOnEviction-sampled)
		sh.mu.Unlock()
	}
	sh := s.shardOf(nearest.id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	dropped := sh.drop(nearest.id)
	s.len.Add(int64(-dropped))
	if dropped > 0 && nearest.freshAtMicros > s.now() {
		s.evictions.Add(1)
	}
}

// sample looks at up to n buckets, spread evenly over the shard from a random
// one on, leaves the nearest to fresh in nearest, if it is nearer, and returns
// how many it looked at.
func (sh *shard) sample(nearest *entry, n int) int {
	n = min(n, sh.len)
	if n == 0 {
		return 0
	}
	from := rand.IntN(sh.len)
	for i := range n {
		if e := sh.at((from + i*sh.len/n) % sh.len); e.freshAtMicros < nearest.freshAtMicros {
			*nearest = *e
		}
	}
	return n
}
