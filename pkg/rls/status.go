package rls

import (
	"math"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// answer makes the answer from the verdicts.
func (d *decision) answer(ans *Answer) {
	ans.Code = OK
	if d.denied {
		ans.Code = OverLimit
	}
	rest := d.picks
	for i := range d.req.Descriptors {
		n := 0
		for n < len(rest) && rest[n].descriptor == i {
			n++
		}
		ans.Statuses = append(ans.Statuses, d.status(first(rest[:n])))
		rest = rest[n:]
	}
	if d.best = speaker(d.picks); d.best != nil {
		ans.Limit = d.best.limit
	}
	d.addHeaders(ans)
	if d.limiter.opt.Metadata {
		ans.Metadata = d.metadata(ans)
	}
}

// status answers one descriptor by the limit of it that ranks first; nil if it
// has none.
func (d *decision) status(p *pick) Status {
	switch {
	case p == nil || p.bare:
		return Status{Code: OK}
	case p.limit.Unlimited:
		return Status{Code: OK, Remaining: math.MaxUint32}
	}
	s := Status{
		Code:         OK,
		Limit:        p.limit,
		Remaining:    uint32(min(d.remaining(p), math.MaxUint32)),
		HasReset:     true,
		ResetSeconds: wholeSeconds(p.verdict),
	}
	switch {
	case p.role == buckets.Shadow && !d.limiter.opt.Reference:
		s.Limit = nil // else Envoy would show it to the client
	case p.role != buckets.Shadow && !p.verdict.Allowed:
		s.Code = OverLimit
	}
	return s
}

// remaining is what a limit has left; the reference profile says 0 where it is
// over.
func (d *decision) remaining(p *pick) uint64 {
	if d.limiter.opt.Reference && !p.verdict.Allowed {
		return 0
	}
	return p.verdict.Remaining
}

// wholeSeconds is a verdict's reset on the wire: rounded up, and at least 1 on
// a denial, since Envoy cuts fractions off and a caller must not come early.
func wholeSeconds(v buckets.Verdict) int64 {
	seconds := roundUp(v.ResetMicros)
	if !v.Allowed {
		seconds = max(1, seconds)
	}
	return seconds
}

// roundUp makes whole seconds of microseconds.
func roundUp(micros int64) int64 { return (micros + 999_999) / 1_000_000 }
