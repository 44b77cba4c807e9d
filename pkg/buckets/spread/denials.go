package spread

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	// remember bounds the denials that are remembered, and for how long at most.
	remember    = 8192
	rememberFor = time.Minute
)

// denials remember the buckets that denied when they were last asked. It is a
// guess at what will deny again: being wrong costs a round trip, never a wrong
// answer. Safe for concurrent use.
type denials struct {
	seed maphash.Seed
	mu   sync.Mutex
	till map[uint64]time.Time
}

func newDenials() *denials {
	return &denials{seed: maphash.MakeSeed(), till: map[uint64]time.Time{}}
}

// note remembers that a bucket denied, or forgets it because it allowed.
func (d *denials) note(key []byte, denied bool) {
	hash := maphash.Bytes(d.seed, key)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !denied {
		delete(d.till, hash)
		return
	}
	if len(d.till) >= remember {
		clear(d.till)
	}
	d.till[hash] = time.Now().Add(rememberFor)
}

// likely tells whether a bucket will probably deny.
func (d *denials) likely(key []byte) bool {
	hash := maphash.Bytes(d.seed, key)
	d.mu.Lock()
	defer d.mu.Unlock()
	till, known := d.till[hash]
	if known && time.Now().After(till) {
		delete(d.till, hash)
		return false
	}
	return known
}
