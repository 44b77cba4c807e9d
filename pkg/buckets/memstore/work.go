package memstore

import (
	"slices"
	"sync"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// work is what deciding a call needs: reused, so that a decision allocates
// nothing.
type work struct {
	ids    []bucketID       // the buckets of the call, each once
	isLog  []bool           // of each bucket
	table  []buckets.Bucket // of each bucket
	slots  []int            // the bucket of each item
	shards []int            // to lock, ascending, each once
}

var works = sync.Pool{New: func() any { return new(work) }}

// plan finds the buckets and shards of a call.
func (w *work) plan(s *Store, call *buckets.Call) {
	for i := range call.Items {
		item := &call.Items[i]
		w.slots = append(w.slots, w.slot(s, s.identify(item.Key), item.Limit.Algorithm))
	}
	slices.Sort(w.shards)
	w.shards = slices.Compact(w.shards)
}

func (w *work) slot(s *Store, id bucketID, a buckets.Algorithm) int {
	if i := slices.Index(w.ids, id); i >= 0 {
		return i
	}
	w.ids = append(w.ids, id)
	w.isLog = append(w.isLog, a == buckets.SlidingWindowLog)
	w.table = append(w.table, buckets.Bucket{})
	w.shards = append(w.shards, s.shardIndex(id))
	return len(w.ids) - 1
}

// reset forgets a call; its logs must not be kept alive by the pool.
func (w *work) reset() {
	clear(w.table)
	w.ids, w.isLog, w.table = w.ids[:0], w.isLog[:0], w.table[:0]
	w.slots, w.shards = w.slots[:0], w.shards[:0]
}
