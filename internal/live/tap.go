package live

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

const (
	maxBuckets = 1000 // held at once
	maxRules   = 1000
	sampled    = 8 // of which the coldest makes room
	shownRules = 50
	shownHot   = 20
	shownLast  = 50
)

// bucketID names a bucket without a place for its value's bytes to be mixed up.
type bucketID struct {
	limit *descriptors.Limit
	value string
}

// tap counts for one watcher. It is safe for concurrent use.
type tap struct {
	now func() time.Time

	mu       sync.Mutex
	since    time.Time
	snapshot Snapshot
	rules    map[*descriptors.Limit]*Rule
	buckets  map[bucketID]*Bucket
	denials  []Denial // a ring
	next     int
}

func newTap(now func() time.Time) *tap {
	t := &tap{now: now}
	t.restart()
	return t
}

func (t *tap) restart() {
	t.since, t.snapshot = t.now(), Snapshot{}
	t.rules, t.buckets = map[*descriptors.Limit]*Rule{}, map[bucketID]*Bucket{}
	t.denials, t.next = nil, 0
}

func (t *tap) see(s *rls.Seen) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case s.Verdict.Allowed:
		t.snapshot.Allowed++
	case s.Shadow:
		t.snapshot.ShadowDenied++
	default:
		t.snapshot.Denied++
	}
	if s.Policy {
		t.snapshot.ByPolicy++
	}
	t.countRule(s)
	t.countBucket(s)
	if !s.Verdict.Allowed {
		t.keepDenial(s)
	}
}

func (t *tap) countRule(s *rls.Seen) {
	r := t.rules[s.Limit]
	if r == nil {
		if len(t.rules) == maxRules {
			return
		}
		r = &Rule{Domain: s.Domain, Rule: s.Limit.Label, Place: s.Limit.Place.String(), Shadow: s.Shadow}
		t.rules[s.Limit] = r
	}
	r.Hits += s.Hits
	if s.Verdict.Allowed {
		r.Allowed++
	} else {
		r.Denied++
	}
}

// countBucket keeps the hottest of any number: a new one takes the place of the
// coldest of some, and inherits its hits, so that what is hot gets in and stays
// (Metwally, Agrawal, El Abbadi: Space-Saving, with a sample for the minimum).
func (t *tap) countBucket(s *rls.Seen) {
	id := bucketID{s.Limit, s.Value}
	b := t.buckets[id]
	if b == nil {
		b = &Bucket{Domain: s.Domain, Rule: s.Limit.Label, Value: s.Value}
		if len(t.buckets) == maxBuckets {
			b.Hits = t.evict()
		}
		t.buckets[id] = b
	}
	b.Hits += s.Hits
	if !s.Verdict.Allowed {
		b.Denied++
	}
	b.Remaining, b.Capacity, b.ResetMicros = s.Verdict.Remaining, s.Limit.Bucket.Capacity(), s.Verdict.ResetMicros
}

func (t *tap) evict() (hits uint64) {
	var coldest bucketID
	n := 0
	for id, b := range t.buckets { // a map begins anywhere
		if n == 0 || b.Hits < hits {
			coldest, hits = id, b.Hits
		}
		if n++; n == sampled {
			break
		}
	}
	delete(t.buckets, coldest)
	return hits
}

func (t *tap) keepDenial(s *rls.Seen) {
	d := Denial{
		At: t.now(), Domain: s.Domain, Rule: s.Limit.Label, Place: s.Limit.Place.String(), Value: s.Value, Hits: s.Hits,
		Remaining: s.Verdict.Remaining, Capacity: s.Limit.Bucket.Capacity(), ResetMicros: s.Verdict.ResetMicros, Shadow: s.Shadow,
	}
	if s.Policy {
		d.Policy = s.Limit.OnStoreError.String()
	}
	if len(t.denials) < shownLast {
		t.denials = append(t.denials, d)
		return
	}
	t.denials[t.next] = d
	t.next = (t.next + 1) % shownLast
}

// take returns what was counted since the last time, and begins anew.
func (t *tap) take() *Snapshot {
	t.mu.Lock()
	s, rules, buckets := t.snapshot, t.rules, t.buckets
	s.Seconds = t.now().Sub(t.since).Seconds()
	s.Denials = append(append([]Denial{}, t.denials[t.next:]...), t.denials[:t.next]...) // a list also where there is none
	t.restart()
	t.mu.Unlock()
	slices.Reverse(s.Denials)
	s.Rules = worst(rules, shownRules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(b.Hits, a.Hits), cmp.Compare(a.Rule, b.Rule))
	})
	s.Hot = worst(buckets, shownHot, func(a, b Bucket) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Value, b.Value))
	})
	return &s
}

func worst[K comparable, V any](all map[K]*V, most int, order func(a, b V) int) []V {
	list := make([]V, 0, len(all))
	for v := range maps.Values(all) {
		list = append(list, *v)
	}
	slices.SortFunc(list, order)
	return list[:min(most, len(list))]
}
