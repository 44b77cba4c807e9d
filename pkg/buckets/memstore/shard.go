package memstore

import (
	"slices"
	"sync"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// shard is a part of the buckets. All methods want mu held.
type shard struct {
	mu   sync.Mutex
	hand uint32 // the position that dropStale looks at next
	table
	logs *logs // sliding_window_log only; nil as long as there are none
	_    [8]byte
	_    [32]byte // a shard has two cache lines of its own
}

// logs are the logs of buckets, apart from their entries.
type logs struct {
	byID map[bucketID][]buckets.Hit
	peak int // most logs since the map was made
}

const (
	minShards     = 256
	maxShards     = 1 << 21
	bucketsAShard = 1024

	// maxBuckets is as many as the shards can hold with room to spare.
	maxBuckets = maxShards * bucketsAShard
)

// shardCount is a power of two.
func shardCount(most int) int {
	n := minShards
	for n < maxShards && n*bucketsAShard < most {
		n *= 2
	}
	return n
}

func (sh *shard) load(id bucketID, isLog bool) buckets.State {
	e, _ := sh.find(id)
	if e == nil {
		return buckets.State{}
	}
	state := buckets.State{Count: e.count, Time: e.time}
	if e.rest < 0 {
		state.Prev = uint64(-e.rest)
	} else {
		state.Frac = e.rest
	}
	if isLog && sh.logs != nil {
		state.Log = sh.logs.byID[id]
	}
	return state
}

func (sh *shard) peek(id bucketID) (buckets.State, bool) {
	e, _ := sh.find(id)
	state := sh.load(id, true)
	state.Log = slices.Clone(state.Log)
	return state, e != nil
}

// store keeps a bucket and returns how many the shard has more now: 1, or 0 if
// the bucket is not new.
func (sh *shard) store(id bucketID, b *buckets.Bucket) int {
	e, _ := sh.find(id)
	added := 0
	if e == nil {
		if e = sh.add(id); e == nil {
			// By chance of the hash this shard has 60 times its share.
			sh.drop(sh.at(0).id)
			e, added = sh.add(id), -1
		}
		added++
	}
	e.count, e.rest = b.State.Count, b.State.Frac-int64(b.State.Prev)
	e.time, e.freshAtMicros = b.State.Time, b.FreshAtMicros
	sh.storeLog(id, b.State.Log)
	return added
}

func (sh *shard) storeLog(id bucketID, log []buckets.Hit) {
	if len(log) == 0 {
		sh.dropLog(id)
		return
	}
	if sh.logs == nil {
		sh.logs = &logs{byID: make(map[bucketID][]buckets.Hit)}
	}
	sh.logs.byID[id] = log
	sh.logs.peak = max(sh.logs.peak, len(sh.logs.byID))
}

// drop removes a bucket and returns how many it removed: 1 or 0.
func (sh *shard) drop(id bucketID) int {
	sh.dropLog(id)
	return sh.remove(id)
}

func (sh *shard) dropLog(id bucketID) {
	if sh.logs != nil {
		delete(sh.logs.byID, id)
	}
}

// dropStale looks at the next n buckets, round and round, drops those that equal
// a fresh one, and returns how many that were.
func (sh *shard) dropStale(nowMicros int64, n int) int {
	dropped := 0
	for ; n > 0 && sh.len > 0; n-- {
		if int(sh.hand) >= sh.len {
			sh.hand = 0
		}
		if e := sh.at(int(sh.hand)); e.freshAtMicros <= nowMicros {
			dropped += sh.drop(e.id) // another takes its place, and is next
		} else {
			sh.hand++
		}
	}
	return dropped
}

// worthShrinking is the size of a map from which on it is worth to be made anew.
const worthShrinking = 64

// shrink gives memory back: the map of logs once it holds a quarter of what it
// held, for a Go map never does so by itself.
func (sh *shard) shrink() {
	sh.table.shrink()
	switch {
	case sh.logs == nil:
	case len(sh.logs.byID) == 0:
		sh.logs = nil
	case sh.logs.peak >= worthShrinking && len(sh.logs.byID) <= sh.logs.peak/4:
		kept := make(map[bucketID][]buckets.Hit, len(sh.logs.byID))
		for id, log := range sh.logs.byID {
			kept[id] = log
		}
		sh.logs = &logs{kept, len(kept)}
	}
}
