package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// Plain is the least a store can be: one map behind one lock around
// [buckets.Decide], with a clock that tests set. It drops a bucket only when a
// call leaves it as a fresh one.
type Plain struct {
	mu        sync.Mutex
	nowMicros int64
	states    map[string]buckets.State
	freshAt   map[string]int64
	closed    bool
}

// NewPlain makes an empty store.
func NewPlain() *Plain {
	return &Plain{states: map[string]buckets.State{}, freshAt: map[string]int64{}}
}

// OpenPlain is the [Factory] of plain stores.
func OpenPlain(testing.TB) Backend {
	p := NewPlain()
	return Backend{Store: p, SetNow: p.SetNow, Read: p.Read, InProcess: true}
}

// SetNow sets the clock.
func (p *Plain) SetNow(micros int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nowMicros = micros
}

// Read returns the value of a bucket in layout 1.
func (p *Plain) Read(_ testing.TB, a buckets.Algorithm, key []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if state, ok := p.states[string(key)]; ok {
		return buckets.AppendState(nil, a, state)
	}
	return nil
}

// FreshAtMicros is when a bucket that is there will equal a fresh one.
func (p *Plain) FreshAtMicros(key []byte) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.freshAt[string(key)]
}

// Drop forgets a bucket.
func (p *Plain) Drop(key []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.states, string(key))
	delete(p.freshAt, string(key))
}

// Decide implements [buckets.Store].
func (p *Plain) Decide(_ context.Context, _ time.Duration, calls []*buckets.Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, call := range calls {
		if p.closed {
			call.Err = &buckets.StoreError{Kind: buckets.KindClosed}
			continue
		}
		p.decide(call)
	}
}

func (p *Plain) decide(call *buckets.Call) {
	var table []buckets.Bucket
	slots, slotOf := make([]int, len(call.Items)), map[string]int{}
	for i, item := range call.Items {
		slot, ok := slotOf[string(item.Key)]
		if !ok {
			slot = len(table)
			slotOf[string(item.Key)] = slot
			table = append(table, buckets.Bucket{State: p.states[string(item.Key)]})
		}
		slots[i] = slot
	}
	buckets.Decide(call, table, slots, p.nowMicros)
	for key, slot := range slotOf {
		switch b := &table[slot]; {
		case !b.Written:
		case b.FreshAtMicros <= p.nowMicros:
			delete(p.states, key)
			delete(p.freshAt, key)
		default:
			p.states[key], p.freshAt[key] = b.State, b.FreshAtMicros
		}
	}
}

// Close implements [buckets.Store].
func (p *Plain) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return nil
}
