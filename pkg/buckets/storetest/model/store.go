package model

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// Store is the model of a store. It is not safe for concurrent use. What it
// stores never expires by itself: a bucket is dropped only when a call leaves
// it as a fresh one.
type Store struct {
	NowMicros int64
	buckets   map[string]stored
}

type stored struct {
	bucket    bucket
	algorithm buckets.Algorithm
}

var _ buckets.Store = (*Store)(nil)

// Decide decides the calls at NowMicros. Waits that a call's verdicts hold
// beforehand are guesses: right ones save the search, wrong ones change nothing.
func (s *Store) Decide(_ context.Context, _ time.Duration, calls []*buckets.Call) {
	for _, call := range calls {
		s.decide(call)
	}
}

// Close does nothing.
func (s *Store) Close() error { return nil }

// Value is the value of a bucket in layout 1; nil if there is none.
func (s *Store) Value(key []byte) []byte {
	kept, ok := s.buckets[string(key)]
	if !ok {
		return nil
	}
	value := []byte{1, byte(kept.algorithm)}
	for _, f := range kept.bucket.fields() {
		value = append(value, f.value.FillBytes(make([]byte, f.bytes))...)
	}
	return value
}

// FreshAtMicros is when a bucket that is there will equal a fresh one.
func (s *Store) FreshAtMicros(key []byte) int64 {
	b := s.buckets[string(key)].bucket
	return add(b.now(), untilEmpty(b, zero)).Int64()
}

// round is one pass over the items of a call, on a copy of the buckets.
type round struct {
	store   *Store
	changed map[string]stored
}

func (s *Store) decide(call *buckets.Call) {
	call.Denied, call.AtMicros, call.Err = false, s.NowMicros, nil
	r := round{s, map[string]stored{}}
	for i := range call.Items {
		item := &call.Items[i]
		b := r.load(item)
		item.Verdict.Allowed = true
		if item.Op == buckets.Take || item.Op == buckets.Look {
			item.Verdict.Allowed = fits(b, ofCount(item.Hits), newLimit(item).capacity)
		}
		r.act(item, b, item.Verdict.Allowed || item.Charged)
	}
	if call.Denied = denied(call.Items); call.Denied {
		r.changed = map[string]stored{}
		for i := range call.Items {
			item := &call.Items[i]
			told := item.Verdict
			r.act(item, r.load(item), item.Charged)
			if !told.Allowed { // then what the first pass told it stands
				told.Charged = item.Verdict.Charged
				item.Verdict = told
			}
		}
	}
	r.commit()
}

// denied: an enforced limit denies, or every quota limit does.
func denied(items []buckets.Item) bool {
	var quotas []bool
	for _, item := range items {
		over := !item.Verdict.Allowed
		if item.Role == buckets.Enforced && over {
			return true
		}
		asks := item.Op == buckets.Take || item.Op == buckets.Look
		if item.Role == buckets.Quota && asks {
			quotas = append(quotas, over)
		}
	}
	return len(quotas) > 0 && !slices.Contains(quotas, false)
}

// load is the bucket of an item as of now, as those before it left it.
func (r round) load(item *buckets.Item) bucket {
	l := newLimit(item)
	b := fresh(item.Limit.Algorithm, l)
	if kept, ok := r.changed[string(item.Key)]; ok {
		b = under(kept.bucket, l)
	} else if kept, ok := r.store.buckets[string(item.Key)]; ok {
		b = under(kept.bucket, l)
	}
	return b.at(of(r.store.NowMicros))
}

// act charges or gives back, and completes the verdict.
func (r round) act(item *buckets.Item, b bucket, mayCharge bool) {
	before, hits := b, ofCount(item.Hits)
	written := false
	switch item.Op {
	case buckets.Take:
		if written = mayCharge; written {
			b = b.charged(hits)
		}
	case buckets.Refund:
		b = b.refunded(hits)
		written = !sameFields(before, b)
	case buckets.GiveBack:
		b = b.givenBack(hits, of(item.AtMicros))
		written = !sameFields(before, b)
	}
	item.Verdict.Charged = written
	if written || b.mended() {
		r.changed[string(item.Key)] = stored{b, item.Limit.Algorithm}
	}
	r.tell(item, b)
}

func (r round) tell(item *buckets.Item, b bucket) {
	v, hits, capacity := &item.Verdict, ofCount(item.Hits), newLimit(item).capacity
	v.Remaining = without(capacity, b.inUse()).Uint64()
	v.AtMicros = b.now().Int64()
	ahead := sub(b.now(), of(r.store.NowMicros))
	guess := sub(of(v.ResetMicros), ahead)
	var wait num
	switch {
	case v.Allowed && b.windowEnds() != nil:
		wait = sub(b.windowEnds(), b.now())
	case v.Allowed:
		wait = untilEmpty(b, guess)
	case less(capacity, hits):
		if f, ok := b.(fixed); ok {
			wait = f.left()
		} else {
			wait = untilEmpty(b, guess)
		}
	default:
		wait = untilRoom(b, hits, capacity, guess)
	}
	// Waits count from the store's now, which a bucket's own may be ahead of.
	v.ResetMicros = add(wait, ahead).Int64()
}

func (r round) commit() {
	if r.store.buckets == nil {
		r.store.buckets = map[string]stored{}
	}
	for key, b := range r.changed {
		if isZero(b.bucket.inUse()) && notAbove(b.bucket.now(), of(r.store.NowMicros)) {
			delete(r.store.buckets, key)
		} else {
			r.store.buckets[key] = b
		}
	}
}

func sameFields(a, b bucket) bool {
	return bytes.Equal(render(a), render(b))
}

func render(b bucket) []byte {
	var value []byte
	for _, f := range b.fields() {
		value = append(value, f.value.FillBytes(make([]byte, 16))...)
	}
	return value
}
