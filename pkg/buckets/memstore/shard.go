package memstore

import (
	"slices"
	"sync"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// bucketID is a key as 128 bits of a seeded hash. At a million buckets the
// chance that two of them meet is below 10^-26.
type bucketID [2]uint64

// entry is a state without its log, and when it will equal a fresh one. It
// holds no pointers.
type entry struct {
	count, prev   uint64
	frac, time    int64
	freshAtMicros int64
}

// shard is a part of the buckets. All methods want mu held.
type shard struct {
	mu      sync.Mutex
	entries map[bucketID]entry
	logs    map[bucketID][]buckets.Hit // sliding_window_log only
	peak    int                        // most entries since the map was made

	_ [32]byte // a shard has a cache line of its own
}

const (
	minShards     = 256
	maxShards     = 1 << 16
	bucketsAShard = 1024 // so that a walk over a shard takes well below 100 µs
)

// shardCount is a power of two.
func shardCount(maxBuckets int) int {
	n := minShards
	for n < maxShards && n*bucketsAShard < maxBuckets {
		n *= 2
	}
	return n
}

func (sh *shard) load(id bucketID, isLog bool) buckets.State {
	e, ok := sh.entries[id]
	if !ok {
		return buckets.State{}
	}
	state := buckets.State{Count: e.count, Prev: e.prev, Frac: e.frac, Time: e.time}
	if isLog {
		state.Log = sh.logs[id]
	}
	return state
}

func (sh *shard) peek(id bucketID) (buckets.State, bool) {
	_, ok := sh.entries[id]
	state := sh.load(id, true)
	state.Log = slices.Clone(state.Log)
	return state, ok
}

// store keeps a bucket and tells whether it is new.
func (sh *shard) store(id bucketID, b *buckets.Bucket) bool {
	if sh.entries == nil {
		sh.entries = make(map[bucketID]entry)
	}
	before := len(sh.entries)
	sh.entries[id] = entry{b.State.Count, b.State.Prev, b.State.Frac, b.State.Time, b.FreshAtMicros}
	sh.peak = max(sh.peak, len(sh.entries))
	sh.storeLog(id, b.State.Log)
	return len(sh.entries) > before
}

func (sh *shard) storeLog(id bucketID, log []buckets.Hit) {
	if len(log) == 0 {
		delete(sh.logs, id)
		return
	}
	if sh.logs == nil {
		sh.logs = make(map[bucketID][]buckets.Hit)
	}
	sh.logs[id] = log
}

// drop removes a bucket and returns how many it removed: 1 or 0.
func (sh *shard) drop(id bucketID) int {
	before := len(sh.entries)
	delete(sh.entries, id)
	delete(sh.logs, id)
	return before - len(sh.entries)
}

// dropStale looks at up to n buckets, at random, and drops those that equal a
// fresh one. It returns how many it dropped.
func (sh *shard) dropStale(nowMicros int64, n int) int {
	dropped := 0
	for id, e := range sh.entries {
		if n == 0 {
			break
		}
		n--
		if e.freshAtMicros <= nowMicros {
			dropped += sh.drop(id)
		}
	}
	return dropped
}

// worthShrinking is the size of a map from which on it is worth to be made anew.
const worthShrinking = 64

// shrink gives memory back once a shard holds a quarter of what it held: a Go
// map never does so by itself.
func (sh *shard) shrink() {
	if sh.peak < worthShrinking || len(sh.entries) > sh.peak/4 {
		return
	}
	sh.entries, sh.logs = copyOf(sh.entries), copyOf(sh.logs)
	sh.peak = len(sh.entries)
}

func copyOf[V any](old map[bucketID]V) map[bucketID]V {
	if len(old) == 0 {
		return nil
	}
	kept := make(map[bucketID]V, len(old))
	for id, v := range old {
		kept[id] = v
	}
	return kept
}
