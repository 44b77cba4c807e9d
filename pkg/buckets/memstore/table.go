package memstore

// bucketID is a key as 128 bits of a seeded hash. At a million buckets the
// chance that two of them meet is below 10^-26. The first half chooses the
// shard, the second the place in its index.
type bucketID [2]uint64

// entry is a bucket without its log, in 48 bytes without pointers.
type entry struct {
	id            bucketID
	count         uint64
	rest          int64 // State.Frac, or State.Prev negated: no algorithm has both
	time          int64
	freshAtMicros int64
}

const (
	chunkEntries = 64        // 3 KiB, of which the allocator wastes nothing
	maxEntries   = 1<<16 - 1 // what a place in the index can name
	minIndex     = 16
	shrinkShare  = 8 // an index is made smaller at an eighth of what it could hold
)

type chunk [chunkEntries]entry

// table is a set of entries by id. They lie packed, in chunks, so that they
// never move as the table grows and can be walked and sampled by position.
// The index finds them: open addressing with linear probing, its length a power
// of two, at most 3/4 full. A slot holds 16 bits of the id and the position plus
// one; 0 is empty. The bits tell where a slot would like to be, so the index
// grows without a look at the entries: 8 KiB for a thousand of them.
type table struct {
	index  []uint32
	chunks []*chunk
	len    int
}

func (t *table) at(pos int) *entry { return &t.chunks[pos/chunkEntries][pos%chunkEntries] }

func tagOf(id bucketID) uint32 { return uint32(id[1]) << 16 }

// home is the first slot for a tag: its highest bits.
func (t *table) home(slot uint32) int {
	return int(uint64(slot>>16) * uint64(len(t.index)) >> 16)
}

// find returns the entry of an id, or nil, and the slot of the index where it is
// or belongs.
func (t *table) find(id bucketID) (*entry, int) {
	if t.len == 0 {
		return nil, 0
	}
	tag, mask := tagOf(id), len(t.index)-1
	i := t.home(tag)
	for ; t.index[i] != 0; i = (i + 1) & mask {
		if slot := t.index[i]; slot&^0xffff == tag {
			if e := t.at(int(slot&0xffff) - 1); e.id == id {
				return e, i
			}
		}
	}
	return nil, i
}

// add returns a new entry for an id that is not there, or nil if the table
// cannot hold more.
func (t *table) add(id bucketID) *entry {
	if t.len == maxEntries {
		return nil
	}
	if 4*(t.len+1) > 3*len(t.index) {
		t.resize(max(minIndex, 2*len(t.index)))
	}
	if t.len == len(t.chunks)*chunkEntries {
		t.chunks = append(t.chunks, new(chunk))
	}
	t.put(tagOf(id) | uint32(t.len+1))
	e := t.at(t.len)
	t.len++
	e.id = id
	return e
}

func (t *table) put(slot uint32) {
	i := t.home(slot)
	for t.index[i] != 0 {
		i = (i + 1) & (len(t.index) - 1)
	}
	t.index[i] = slot
}

func (t *table) resize(slots int) {
	old := t.index
	t.index = make([]uint32, slots)
	for _, slot := range old {
		if slot != 0 {
			t.put(slot)
		}
	}
}

// remove takes an id out and returns how many entries that were: 1 or 0. The
// last entry takes the place of the removed one.
func (t *table) remove(id bucketID) int {
	e, i := t.find(id)
	if e == nil {
		return 0
	}
	hole := t.index[i]
	last := t.at(t.len - 1)
	if last != e {
		_, j := t.find(last.id)
		t.index[j] = t.index[j]&^0xffff | hole&0xffff
		*e = *last
	}
	t.len--
	t.closeGap(i)
	return 1
}

// closeGap empties a slot and moves those behind it, up to an empty one, to
// where they would be had it never been there.
func (t *table) closeGap(gap int) {
	mask := len(t.index) - 1
	for i := (gap + 1) & mask; t.index[i] != 0; i = (i + 1) & mask {
		home := t.home(t.index[i])
		if (i-home)&mask >= (i-gap)&mask {
			t.index[gap] = t.index[i]
			gap = i
		}
	}
	t.index[gap] = 0
}

// shrink gives memory back that a table no longer needs, but for one chunk.
func (t *table) shrink() {
	if t.len == 0 {
		*t = table{}
		return
	}
	if chunks := t.len/chunkEntries + 2; chunks < len(t.chunks) {
		clear(t.chunks[chunks:])
		t.chunks = t.chunks[:chunks]
	}
	slots := len(t.index)
	for slots > minIndex && shrinkShare*t.len < slots {
		slots /= 2
	}
	if slots < len(t.index) {
		t.resize(2 * slots)
	}
}
