package ruletest

import (
	"math"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

func (p *parser) step(n *descriptors.Node, domain string) step {
	s := step{place: p.tree.Place(n), at: p.last, times: 1}
	s.request.Domain = domain
	var one rls.Descriptor
	ok := p.fields(n, "a step", stepFields, func(name string, value *descriptors.Node) {
		switch name {
		case "at":
			s.at = p.duration(value, name)
			if s.at < p.last {
				p.tree.Fail(value, "", "at goes back in time: the step before is at %s", p.last)
			}
			p.last = max(p.last, s.at)
		case "times":
			s.times = int(p.number(value, name, 1, maxTimes))
		case "hits_addend":
			s.request.HitsAddend = uint32(p.number(value, name, 1, math.MaxUint32))
		case "store":
			s.storeDown = p.storeDown(value)
		case "descriptors":
			for _, item := range p.list(value, name) {
				s.request.Descriptors = append(s.request.Descriptors, p.descriptor(item))
			}
		case "expect":
			s.expect = p.expect(value, true)
		default:
			p.own(&one, n, name, value)
		}
	})
	if !ok {
		return s
	}
	p.checkStep(n, &s)
	if n.Get("send") != nil {
		s.request.Descriptors = append(s.request.Descriptors, one)
	}
	if want, got := len(s.expect.descriptors), len(s.request.Descriptors); s.expect.listed && want != got {
		p.tree.Fail(s.expect.node.Get("descriptors"), "", "the number of expected descriptors is %d, that of sent ones %d", want, got)
	}
	return s
}

func (p *parser) checkStep(n *descriptors.Node, s *step) {
	if (n.Get("send") == nil) == (n.Get("descriptors") == nil) {
		p.tree.Fail(n, "send: {key: value}, or descriptors: a list of those", "a step has either send or descriptors")
	}
	if n.Get("expect") == nil {
		p.tree.Fail(n, "expect: ok", "expect is missing in this step")
	}
	if n.Get("send") != nil {
		return
	}
	for _, name := range []string{"cost", "refund", "look", "override"} {
		if value := n.Get(name); value != nil {
			p.tree.Fail(value, "- {send: {key: value}, "+name+": …}", "%s belongs to one of the descriptors here", name)
		}
	}
}

func (p *parser) storeDown(n *descriptors.Node) bool {
	switch text := p.text(n, "store"); text {
	case "down":
		return true
	case "up":
	default:
		if n.Kind == descriptors.TextNode {
			p.tree.Fail(n, "", "unknown state %q of the store: write up or down", text)
		}
	}
	return false
}

// descriptor is an item of descriptors: its entries, or a map of them under send
// and what goes with it.
func (p *parser) descriptor(n *descriptors.Node) rls.Descriptor {
	var d rls.Descriptor
	if send := n.Get("send"); send != nil && send.Kind != descriptors.TextNode {
		p.fields(n, "a descriptor", sendFields, func(name string, value *descriptors.Node) { p.own(&d, n, name, value) })
		return d
	}
	d.Entries = p.entries(n)
	return d
}

// own sets what a descriptor says for itself.
func (p *parser) own(d *rls.Descriptor, of *descriptors.Node, name string, value *descriptors.Node) {
	switch name {
	case "send":
		d.Entries = p.entries(value)
		return
	case "override":
		d.HasLimit, d.Limit = true, p.override(value)
		return
	}
	for _, other := range []string{"cost", "refund", "look"} {
		if other != name && of.Get(other) != nil && other < name {
			p.tree.Fail(value, "", "%s and %s exclude each other", other, name)
		}
	}
	switch name {
	case "cost":
		d.HasHits, d.Hits = true, p.number(value, name, 1, math.MaxUint64)
	case "refund":
		d.HasHits, d.IsNegative, d.Hits = true, true, p.number(value, name, 1, math.MaxUint64)
	case "look":
		d.HasHits = p.truth(value, name)
	}
}

// entries is a map of keys and values, in the order of the file, or a list of
// such maps, where a key comes twice.
func (p *parser) entries(n *descriptors.Node) []descriptors.Entry {
	var all []descriptors.Entry
	switch n.Kind {
	case descriptors.ListNode:
		for _, item := range n.Items {
			if item.Kind != descriptors.MapNode {
				p.tree.Fail(item, "", "an entry is key: value, not %s", item.Kind)
				continue
			}
			all = append(all, p.entries(item)...)
		}
	case descriptors.MapNode:
		for _, pair := range n.Pairs {
			if pair.Value.Kind != descriptors.TextNode {
				p.tree.Fail(pair.Value, `"" is an empty value`, "the value of %s must be text, not %s", pair.Key.Text, pair.Value.Kind)
				continue
			}
			all = append(all, descriptors.Entry{Key: pair.Key.Text, Value: pair.Value.Text})
		}
	default:
		p.tree.Fail(n, "", "a descriptor is a map of keys and values, not %s", n.Kind)
		return nil
	}
	if len(n.Items)+len(n.Pairs) == 0 {
		p.tree.Fail(n, "", "a descriptor has at least one entry")
	}
	return all
}

func (p *parser) override(n *descriptors.Node) rls.Override {
	var o rls.Override
	ok := p.fields(n, "override", overrideFields, func(name string, value *descriptors.Node) {
		switch name {
		case "requests_per_unit":
			o.RequestsPerUnit = uint32(p.number(value, name, 0, math.MaxUint32))
		case "unit":
			unit, known := descriptors.ParseUnit(p.text(value, name))
			if !known {
				p.tree.Fail(value, "", "unknown unit %q: write second, minute, hour, day, week, month or year", value.Text)
			}
			o.Unit = int32(unit)
		case "unit_multiplier":
			o.Multiplier = uint32(p.number(value, name, 1, math.MaxUint32))
		}
	})
	for _, name := range overrideFields[:2] {
		if ok && n.Get(name) == nil {
			p.tree.Fail(n, "", "%s is missing in this override", name)
		}
	}
	return o
}
