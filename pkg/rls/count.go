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
			continue // counted as a decision of the policy
		case p.verdict.Allowed:
			p.metrics.OK.Add(1)
			if near := p.near(d.limiter.opt.NearLimitRatio); near > 0 {
				p.metrics.NearLimit.Add(float64(near))
			}
		default:
			p.metrics.Over.Add(1)
		}
		if p.op == buckets.Take {
			p.metrics.Hits.Add(float64(p.hits))
		}
		if p.metrics.Value != nil {
			p.metrics.Value(d.valueLabel(p), !p.verdict.Allowed)
		}
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
