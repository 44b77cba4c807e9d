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

	sampledOnInsert   = 2
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

func (s *Store) sweep(sh *shard) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s.len.Add(int64(-sh.dropStale(s.now(), math.MaxInt)))
	sh.shrink()
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
	var nearest bucketID
	freshAt, sampled := int64(math.MaxInt64), 0
	from := rand.IntN(len(s.shards))
	for i := 0; i < len(s.shards) && sampled < sampledOnEviction; i++ {
		sh := &s.shards[(from+i)%len(s.shards)]
		sh.mu.Lock()
		for id, e := range sh.entries {
			if sampled == sampledOnEviction {
				break
			}
			sampled++
			if e.freshAtMicros < freshAt {
				nearest, freshAt = id, e.freshAtMicros
			}
		}
		sh.mu.Unlock()
	}
	sh := s.shardOf(nearest)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	dropped := sh.drop(nearest)
	s.len.Add(int64(-dropped))
	if dropped > 0 && freshAt > s.now() {
		s.evictions.Add(1)
	}
}
