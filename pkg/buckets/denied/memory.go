package denied

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// slots bounds what is remembered; a power of two. With keys of 60 bytes it is
// 15 MB when full.
const slots = 1 << 16

// Memory is what a [Cache] remembers. It is apart from it so that the store behind
// can tell of give-backs. It keeps one denial for each slot: the newest whose key
// falls there. Safe for concurrent use.
type Memory struct {
	now   func() int64 // microseconds that never run backwards
	seed  maphash.Seed
	slots []atomic.Pointer[denial]
}

// denial is what is remembered of a bucket. It is never written again.
type denial struct {
	key   string
	limit buckets.Limit // a copy, so that no ruleset is kept
	hits  uint64        // what did not fit; 0: hits were given back, nothing is known

	sentMicros  int64 // when the store was asked, or told to give back
	untilMicros int64 // it is remembered until then
	readyMicros int64 // when there is room, or a little later
	remaining   uint64
}

// NewMemory makes an empty memory.
func NewMemory() *Memory {
	began := time.Now()
	return newMemory(func() int64 { return time.Since(began).Microseconds() })
}

func newMemory(now func() int64) *Memory {
	return &Memory{now: now, seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[denial], slots)}
}

// Forget drops what is remembered of a bucket, because hits were given back to
// it; a denial that is under way is not remembered either. The mark that it
// leaves may push another bucket's denial out, which is only asked for again.
func (m *Memory) Forget(key []byte) {
	m.slot(key).Store(&denial{key: string(key), sentMicros: m.now()})
}

func (m *Memory) slot(key []byte) *atomic.Pointer[denial] {
	return &m.slots[maphash.Bytes(m.seed, key)&(slots-1)]
}

// of is what is remembered of an item's bucket and decides it; else nil.
func (m *Memory) of(item *buckets.Item, nowMicros int64) *denial {
	d := m.slot(item.Key).Load()
	if d == nil || d.hits == 0 || d.hits > item.Hits || nowMicros >= d.untilMicros ||
		d.key != string(item.Key) || !d.limit.SameRoom(item.Limit) {
		return nil
	}
	return d
}

func (m *Memory) denies(item *buckets.Item, nowMicros int64) bool {
	return m.of(item, nowMicros) != nil
}

// tell gives an item of a denied call its verdict.
func (m *Memory) tell(item *buckets.Item, nowMicros int64) {
	item.Verdict = buckets.Verdict{Allowed: true, Unasked: true}
	if item.Role != buckets.Enforced {
		return
	}
	d := m.of(item, nowMicros)
	if d == nil {
		return
	}
	item.Verdict = buckets.Verdict{
		Remaining:   d.remaining,
		ResetMicros: max(1, d.readyMicros-nowMicros) + item.Limit.MoreIn(item.Hits-d.hits),
	}
}

// remember keeps a denial, unless a smaller cost is known to be denied, too, or
// hits were given back since the store was asked.
func (m *Memory) remember(item *buckets.Item, sentMicros, nowMicros int64) {
	reset := item.Verdict.ResetMicros
	until := sentMicros + min(reset, longest.Microseconds())
	if until <= nowMicros {
		return
	}
	slot := m.slot(item.Key)
	old := slot.Load()
	if old != nil && old.key == string(item.Key) {
		better := old.hits < item.Hits && m.of(item, nowMicros) == old
		if better || old.hits == 0 && old.sentMicros >= sentMicros {
			return
		}
	}
	slot.CompareAndSwap(old, &denial{
		key: string(item.Key), limit: *item.Limit, hits: item.Hits,
		sentMicros: sentMicros, untilMicros: until, readyMicros: nowMicros + reset,
		remaining: item.Verdict.Remaining,
	})
}

// outdate drops the denial of a bucket that is fuller now: it would tell a wait
// that is too short.
func (m *Memory) outdate(key []byte) {
	slot := m.slot(key)
	if d := slot.Load(); d != nil && d.hits > 0 && d.key == string(key) {
		slot.CompareAndSwap(d, nil)
	}
}
