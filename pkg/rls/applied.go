package rls

import (
	"context"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// Applied is what one limit made of a call; see [Limiter.Explain].
type Applied struct {
	Descriptor int                // of the call, from 0
	Limit      *descriptors.Limit // of the rule, or an override of it
	Key        string             // of the bucket; "" where no store was asked
	Hits       uint64             // the cost, as far as it tells verdicts apart
	Op         buckets.Op
	Role       buckets.Role
	Charged    bool            // it charges what is denied, too
	Verdict    buckets.Verdict // Allowed where the limit is unlimited
	Policy     bool            // a store policy gave the verdict
	Speaks     bool            // headers, metadata and Retry-After are of this limit
}

// Explain is [Limiter.Decide] that also tells what each limit said, in the order
// of descriptors. Limits that another one of the call replaces are not there.
func (l *Limiter) Explain(ctx context.Context, req *Request, ans *Answer) ([]Applied, error) {
	var all []Applied
	err := l.decide(ctx, req, ans, func(d *decision) { all = d.applied() })
	return all, err
}

func (d *decision) applied() []Applied {
	all := make([]Applied, len(d.picks))
	for i := range d.picks {
		p := &d.picks[i]
		all[i] = Applied{
			Descriptor: p.descriptor,
			Limit:      p.limit,
			Key:        string(d.keys[p.keyFrom:p.keyTo]),
			Hits:       p.hits,
			Op:         p.op,
			Role:       p.role,
			Charged:    p.charged,
			Verdict:    p.verdict,
			Policy:     p.policy,
			Speaks:     p == d.best,
		}
	}
	return all
}
