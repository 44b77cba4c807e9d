package rls

import (
	"context"
	"math"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// denyResetMicros is what a caller is told whom the policy deny turned away.
const denyResetMicros = 1_000_000

// byPolicy decides what the store could not, each limit by its own policy.
func (d *decision) byPolicy(ctx context.Context) {
	for i := range d.picks {
		if d.picks[i].pending {
			d.applyPolicy(&d.picks[i])
		}
	}
	d.send(ctx, d.limiter.opt.Local, time.Duration(math.MaxInt64))
	for i := range d.picks {
		if p := &d.picks[i]; p.pending { // also the local store failed
			p.pending, p.unknown, p.bare = false, true, true
		}
	}
	d.judge()
	d.countPolicies()
}

// giveBack undoes what the store charged although it could not decide, unless
// policy lets the call pass.
func (d *decision) giveBack() {
	if !d.denied && !d.failing {
		return
	}
	for _, undo := range d.returns {
		undo()
	}
}

// applyPolicy gives the verdict of a limit's policy; the one of local is left to
// the embedded store. Shadow limits deny nobody, and refunds always pass.
func (d *decision) applyPolicy(p *pick) {
	policy := d.policyOf(p)
	p.pending = policy == descriptors.PolicyLocal && p.role != buckets.Shadow
	if p.pending {
		p.policy = true
		p.bucket = share(p.bucket, d.limiter.opt.Replicas)
		return
	}
	if p.role == buckets.Shadow || p.op == buckets.Refund {
		p.bare = true
		return
	}
	p.policy = true
	switch policy {
	case descriptors.PolicyDeny:
		p.verdict = buckets.Verdict{ResetMicros: denyResetMicros}
	case descriptors.PolicyAllow:
		p.bare = true
		d.quotaPasses = d.quotaPasses || p.role == buckets.Quota
	default:
		p.bare, p.unknown = true, true
	}
}

// policyOf is the policy that decides a limit. local needs a local store.
func (d *decision) policyOf(p *pick) descriptors.StorePolicy {
	if p.limit.OnStoreError == descriptors.PolicyLocal && d.limiter.opt.Local == nil {
		return descriptors.PolicyError
	}
	return p.limit.OnStoreError
}

// share is what one of n servers enforces on its own of a limit, rounded up.
// Where the share breaks a rule of the algorithm (steps of whole tokens), its
// nearest kin takes over.
func share(l *buckets.Limit, n int) *buckets.Limit {
	parts := uint64(n)
	s := &buckets.Limit{
		Algorithm:    l.Algorithm,
		Amount:       (l.Amount + parts - 1) / parts,
		WindowMicros: l.WindowMicros,
		Burst:        (l.Burst + parts - 1) / parts,
		RefillMicros: l.RefillMicros,
		Align:        l.Align,
		Calendar:     l.Calendar,
		Unbounded:    l.Unbounded,
	}
	if s.Prepare() == nil {
		return s
	}
	s.RefillMicros = 0
	if s.Prepare() == nil {
		return s
	}
	return l
}

// countPolicies counts each policy that had a say once.
func (d *decision) countPolicies() {
	var counted [4]bool
	for i := range d.picks {
		p := &d.picks[i]
		policy := d.policyOf(p)
		if p.policy && !counted[policy] {
			counted[policy] = true
			d.handles.Policy(policy, string(d.failed.Kind))
		}
	}
}

// decidingPolicy names the policy that made the answer: that of the limit which
// speaks for the call, else the one that let it pass. It is "" where no policy
// had a say.
func (d *decision) decidingPolicy() string {
	switch {
	case d.best != nil && d.best.policy:
		return d.policyOf(d.best).String()
	case d.denied:
		return ""
	}
	for i := range d.picks {
		if p := &d.picks[i]; p.policy && !p.unknown {
			return d.policyOf(p).String()
		}
	}
	return ""
}
