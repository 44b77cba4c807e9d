package rls

import (
	"cmp"
	"math/bits"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// first is the pick that ranks first: the one that speaks for a descriptor whose
// picks these are. It depends on what the picks are, not on their order; nil if
// there are none.
func first(picks []pick) *pick {
	var b *pick
	for i := range picks {
		if p := &picks[i]; b == nil || p.compare(b) < 0 {
			b = p
		}
	}
	return b
}

// speaker is the pick that speaks for a call, in headers, Retry-After and
// metadata: the first, but never a shadow or unlimited limit.
func speaker(picks []pick) *pick {
	if p := first(picks); p != nil && p.class() < classShadow {
		return p
	}
	return nil
}

// The classes of picks, those that speak first.
const (
	classDenying = iota // denies the call
	classAllowed        // an enforced limit with room
	classQuota          // a quota limit, with room or not, in a call let through
	classShadow         // would have denied, or not
	classBare           // unlimited, or let pass by a store policy
)

func (p *pick) class() int {
	switch {
	case p.limit.Unlimited || p.bare:
		return classBare
	case p.role == buckets.Shadow:
		return classShadow
	case p.denies:
		return classDenying
	case p.role == buckets.Enforced:
		return classAllowed
	}
	return classQuota
}

// compare orders picks, total up to equal limits in equal states: by class; what
// is over before what has room; of those the longest reset, of these the least
// share that remains. The rest only makes the order total.
func (p *pick) compare(q *pick) int {
	v, w := &p.verdict, &q.verdict
	if order := cmp.Or(cmp.Compare(p.class(), q.class()), compareBool(v.Allowed, w.Allowed)); order != 0 {
		return order
	}
	if !v.Allowed && v.ResetMicros != w.ResetMicros {
		return cmp.Compare(w.ResetMicros, v.ResetMicros)
	}
	return cmp.Or(
		compareShares(p, q),
		cmp.Compare(v.ResetMicros, w.ResetMicros),
		cmp.Compare(v.Remaining, w.Remaining),
		cmp.Compare(p.limit.Label, q.limit.Label),
		cmp.Compare(p.limit.Amount, q.limit.Amount),
		cmp.Compare(p.limit.Bucket.WindowMicros, q.limit.Bucket.WindowMicros),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// compareShares orders by the share of the capacity that remains.
func compareShares(p, q *pick) int {
	hiP, loP := bits.Mul64(p.verdict.Remaining, max(1, q.bucket.Capacity()))
	hiQ, loQ := bits.Mul64(q.verdict.Remaining, max(1, p.bucket.Capacity()))
	return cmp.Or(cmp.Compare(hiP, hiQ), cmp.Compare(loP, loQ))
}
