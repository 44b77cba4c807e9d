package rls

import (
	"slices"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// match finds the limits of every descriptor.
func (d *decision) match() error {
	if d.domain == nil { // nothing applies
		if !d.req.Look {
			d.handles.Unknown.Add(float64(len(d.req.Descriptors)))
		}
		return nil
	}
	for i := range d.req.Descriptors {
		if err := d.matchOne(i); err != nil {
			return err
		}
		if len(d.picks) > MaxLimitsPerCall {
			return &Error{Kind: Invalid, Text: "more limits apply to this call than can be decided at once"}
		}
	}
	return nil
}

func (d *decision) matchOne(i int) error {
	desc := &d.req.Descriptors[i]
	if desc.HasLimit {
		return d.override(i)
	}
	m := d.domain.Match(desc.Entries)
	d.marks = append(d.marks, d.marksOf(m.Rule, desc.Entries))
	if m.Reason != descriptors.Matched {
		if !d.req.Look {
			d.handles.Unmatched[m.Reason].Add(1)
		}
		return nil
	}
	for _, l := range m.Rule.Limits {
		d.add(i, l, &d.rules.limits[l.Index])
	}
	return nil
}

// marksOf says how the entries of a descriptor are named that ends at rule.
// Where it ends at none, what a rule on its way calls sensitive still is; to
// find out is of use only if the entries are named anywhere.
func (d *decision) marksOf(rule *descriptors.Rule, entries []descriptors.Entry) []buckets.Mark {
	switch {
	case rule != nil:
		return rule.Marks
	case d.limiter.opt.Metadata:
		return d.sensitive(entries)
	}
	return nil
}

// sensitive marks the entries that rules on their way call sensitive; nil if
// there are none.
func (d *decision) sensitive(entries []descriptors.Entry) []buckets.Mark {
	var marks []buckets.Mark
	d.domain.Observe(entries, func(step descriptors.Step) {
		if !step.Taken {
			return
		}
		for i, mark := range step.Rule.Marks {
			if mark.Kind == buckets.Sensitive {
				if marks == nil {
					marks = make([]buckets.Mark, len(entries))
				}
				marks[i] = mark
			}
		}
	})
	return marks
}

// override enforces the limit that a descriptor brings along. The reference
// profile looks no rule up for it, and knows no multiplier.
func (d *decision) override(i int) error {
	desc := &d.req.Descriptors[i]
	var rule *descriptors.Rule
	multiplier := uint32(1)
	if !d.limiter.opt.Reference {
		rule = d.domain.Match(desc.Entries).Rule
		multiplier = desc.Limit.Multiplier
	}
	l, err := d.template(rule).Override(desc.Limit.RequestsPerUnit, desc.Limit.unit(), multiplier)
	if err != nil {
		return &Error{Kind: Invalid, Text: err.Error()}
	}
	if rule != nil {
		d.marks = append(d.marks, rule.Marks)
	} else {
		d.marks = append(d.marks, d.sensitive(desc.Entries))
	}
	metrics := &d.handles.override
	if l.Index >= 0 {
		metrics = &d.rules.limits[l.Index]
	}
	d.add(i, l, metrics)
	return nil
}

// template is the limit in whose place an override stands: the first of the rule
// that matches. Where that has no amount to replace, it is the default of the
// domain with whatever else the rule says.
func (d *decision) template(rule *descriptors.Rule) *descriptors.Limit {
	byDefault := d.rules.set.DefaultLimit(d.domain)
	switch {
	case rule == nil:
		return byDefault
	case len(rule.Limits) > 0 && !rule.Limits[0].Unlimited:
		return rule.Limits[0]
	}
	l := *byDefault
	l.Rule, l.Shadow, l.Quota = rule, rule.Shadow, rule.Quota
	if len(rule.Limits) > 0 {
		of := rule.Limits[0]
		l.Name, l.WireName, l.Replaces = of.Name, of.WireName, of.Replaces
		l.Index, l.Label, l.Place = of.Index, of.Label, of.Place
	}
	return &l
}

// unit is the unit of an override; unknown numbers are UnknownUnit.
func (o *Override) unit() descriptors.Unit {
	if o.Unit < 0 || o.Unit > int32(descriptors.Week) {
		return descriptors.UnknownUnit
	}
	return descriptors.Unit(o.Unit)
}

// add makes a pick of a limit: what is to be done with its bucket.
func (d *decision) add(i int, l *descriptors.Limit, metrics *LimitMetrics) {
	p := pick{limit: l, bucket: &l.Bucket, metrics: metrics, descriptor: i}
	p.verdict.Allowed = true
	if !l.Unlimited {
		d.plan(&p, &d.req.Descriptors[i])
	}
	d.picks = append(d.picks, p)
}

// plan sets what a limit does with the cost of its descriptor.
func (d *decision) plan(p *pick, desc *Descriptor) {
	opt, l := &d.limiter.opt, p.limit
	p.hits = uint64(max(1, d.req.HitsAddend))
	if desc.HasHits {
		p.hits = desc.Hits
	}
	switch {
	case d.req.Renew:
		p.op, p.hits = buckets.Refund, buckets.AllHits
		return // unclamped: more may be in use than the limit has now
	case desc.IsNegative && d.req.Look:
		p.op, p.hits = buckets.Look, 0 // a refund always passes
	case desc.IsNegative:
		p.op = buckets.Refund
	case p.hits == 0 && opt.Reference:
		p.op = buckets.Look // over only if overdrawn
	case p.hits == 0:
		p.op, p.hits = buckets.Look, 1
	}
	if d.req.Look && p.op != buckets.Refund {
		p.op = buckets.Look
	}
	p.hits = l.Bucket.Clamp(p.hits)
	switch {
	case l.Shadow || opt.Shadow:
		p.role = buckets.Shadow
	case l.Quota || opt.Quota:
		p.role = buckets.Quota
	}
	p.charged = !d.req.Look && (l.DeniedHits == descriptors.DeniedCharged ||
		l.DeniedHits == descriptors.DeniedAuto && desc.HasHits)
}

// replace drops the limits whose names others of the call replace. The names of
// a dropped limit still count: chains are not resolved, so that the order of
// descriptors does not matter. An unlimited one stands: there is nothing to
// drop.
func (d *decision) replace() {
	var names []string
	for i := range d.picks {
		names = append(names, d.picks[i].limit.Replaces...)
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	d.picks = slices.DeleteFunc(d.picks, func(p pick) bool {
		_, replaced := slices.BinarySearch(names, p.limit.Name)
		return replaced && !p.limit.Unlimited
	})
}
