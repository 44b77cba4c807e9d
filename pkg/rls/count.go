package rls

import (
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// count counts every verdict of the call.
func (d *decision) count() {
	for i := range d.picks {
		p := &d.picks[i]
		switch {
		case p.limit.Unlimited:
			d.handles.Unlimited.Add(1)
			continue
		case p.bare:
			continue // counted as a decision of the policy, or not asked
		}
		p.count(d.limiter.opt.NearLimitRatio)
		if p.metrics.Value != nil {
			p.metrics.Value(d.valueLabel(p), !p.verdict.Allowed)
		}
	}
}

// count counts a verdict and its hits; a look and a refund have none.
func (p *pick) count(nearRatio uint64) {
	var hits, near uint64
	if p.op == buckets.Take {
		hits = p.hits
		p.metrics.Hits.Add(float64(hits))
	}
	if p.verdict.Allowed {
		p.metrics.OK.Add(1)
		if near = p.near(nearRatio); near > 0 {
			p.metrics.NearLimit.Add(float64(near))
		}
	} else {
		p.metrics.Over.Add(1)
	}
	if p.metrics.Tally != nil {
		p.metrics.Tally(hits, near, !p.verdict.Allowed)
	}
}

// near is how many of the charged hits lie above the near limit, which is ratio
// millionths of the capacity.
func (p *pick) near(ratio uint64) uint64 {
	if !p.verdict.Charged || p.op != buckets.Take {
		return 0
	}
	capacity := p.bucket.Capacity()
	above := capacity * ratio / 1_000_000
	used := capacity - min(capacity, p.verdict.Remaining)
	return min(p.hits, used-min(used, above))
}

// valueLabel is what a rule with detailed_metric or value_to_metric shows of a
// call's values; sensitive ones are hashed.
func (d *decision) valueLabel(p *pick) string {
	rule, marks := p.limit.Rule, d.marks[p.descriptor]
	var b strings.Builder
	for i, e := range d.req.Descriptors[p.descriptor].Entries {
		named := rule.DetailedMetric
		if !named && (i >= len(rule.ValueToMetric) || !rule.ValueToMetric[i]) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if named {
			b.WriteString(shown(e.Key) + "=")
		}
		switch {
		case i < len(marks) && marks[i].Kind == buckets.Sensitive:
			b.Write(d.limiter.opt.Keyer.AppendHashed(nil, e.Value))
		case i < len(marks) && marks[i].Kind == buckets.Shared:
			b.WriteString(shown(marks[i].Text))
		default:
			b.WriteString(shown(e.Value))
		}
	}
	return b.String()
}
