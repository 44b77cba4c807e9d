package memstore

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// TestTable holds a table to a map, with ids that crowd into few slots.
func TestTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var table table
		model := map[bucketID]uint64{}
		id := rapid.Custom(func(t *rapid.T) bucketID {
			// The tag is in the low bits of the second half: many are equal.
			return bucketID{rapid.Uint64Range(0, 40).Draw(t, "low"), rapid.SampledFrom([]uint64{0, 1, 0x7fff, 0xfff0, 0xffff}).Draw(t, "tag")}
		})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				id, value := id.Draw(t, "id"), rapid.Uint64().Draw(t, "value")
				e, _ := table.find(id)
				if e == nil {
					e = table.add(id)
				}
				e.count, model[id] = value, value
			},
			"remove": func(t *rapid.T) {
				id := id.Draw(t, "id")
				_, want := model[id]
				delete(model, id)
				if got := table.remove(id); (got == 1) != want {
					t.Fatalf("remove(%v) = %d, it was there: %v", id, got, want)
				}
			},
			"shrink": func(*rapid.T) { table.shrink() },
			"": func(t *rapid.T) {
				checkTable(t, &table, model)
			},
		})
	})
}

func checkTable(t *rapid.T, table *table, model map[bucketID]uint64) {
	t.Helper()
	if table.len != len(model) {
		t.Fatalf("len = %d, want %d", table.len, len(model))
	}
	for id, value := range model {
		if e, _ := table.find(id); e == nil || e.id != id || e.count != value {
			t.Fatalf("find(%v) = %+v, want the value %d", id, e, value)
		}
	}
	used := 0
	for _, slot := range table.index {
		if slot != 0 {
			used++
		}
	}
	if used != len(model) {
		t.Fatalf("%d slots of the index are used by %d entries", used, len(model))
	}
}

// TestTableIsBounded: the position of an entry has 16 bits in the index.
func TestTableIsBounded(t *testing.T) {
	t.Parallel()
	var sh shard
	for i := range uint64(maxEntries) {
		if e := sh.add(bucketID{i, i * 0x9e3779b97f4a7c15 >> 7}); e == nil {
			t.Fatalf("add failed at %d of %d", i, maxEntries)
		}
	}
	if e := sh.add(bucketID{1 << 40, 1}); e != nil {
		t.Fatal("add went beyond the bound")
	}
	last := bucketID{1 << 40, 1}
	b := &buckets.Bucket{State: buckets.State{Count: 7, Prev: 3}}
	if added := sh.store(last, b); added != 0 || sh.len != maxEntries {
		t.Errorf("store in a full shard: %d added, len = %d", added, sh.len)
	}
	if state, ok := sh.peek(last); !ok || state.Count != 7 || state.Prev != 3 {
		t.Errorf("what was stored is not there: %+v", state)
	}
}
