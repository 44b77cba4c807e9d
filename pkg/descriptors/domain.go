package descriptors

import (
	"iter"
	"net/netip"
	"slices"
	"strconv"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// overrideLabel names in metrics what no rule gives a name.
const overrideLabel = "override"

// Domains lists the domains by name.
func (rs *Ruleset) Domains() []*Domain {
	if rs == nil {
		return nil
	}
	all := make([]*Domain, 0, len(rs.domains))
	for _, name := range sortedKeys(rs.domains) {
		all = append(all, rs.domains[name])
	}
	return all
}

// FileDomains lists the domains that a file has, as far as they can be told.
func (rs *Ruleset) FileDomains(file string) []string {
	if rs == nil {
		return nil
	}
	return rs.files[file]
}

// Files lists the files by name.
func (rs *Ruleset) Files() []string { return sortedKeys(rs.files) }

// Rejected lists the domains whose newest rules are in error.
func (rs *Ruleset) Rejected() []string {
	var all []string
	for _, d := range rs.Domains() {
		if d.Rejected {
			all = append(all, d.Name)
		}
	}
	return all
}

// Rules counts the rules of all domains.
func (rs *Ruleset) Rules() int {
	n := 0
	for _, d := range rs.Domains() {
		for range d.Rules() {
			n++
		}
	}
	return n
}

func (rs *Ruleset) find(domain string) *Domain {
	if rs == nil {
		return nil
	}
	return rs.domains[domain]
}

// Usable says that calls of the domain can be decided.
func (d *Domain) Usable() bool { return !d.Rejected || d.Kept }

// Rules walks all rules at which a descriptor can end, in an order that depends
// on nothing but what they say.
func (d *Domain) Rules() iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		d.root.walk(func(n *node) bool {
			if n.rule == nil || len(n.rule.Limits) == 0 && n.keys != nil {
				return true
			}
			return yield(n.rule)
		})
	}
}

// walk visits a node and those below it, once each.
func (n *node) walk(visit func(*node) bool) bool {
	if !visit(n) {
		return false
	}
	for _, child := range n.children {
		if !child.walk(visit) {
			return false
		}
	}
	return true
}

// number gives all limits their index and their label.
func (rs *Ruleset) number() {
	for _, d := range rs.Domains() {
		taken := make(map[string]bool)
		for r := range d.Rules() {
			for _, l := range r.Limits {
				if l.Name != "" {
					taken[l.Name] = true
				}
			}
		}
		for r := range d.Rules() {
			for i, l := range r.Limits {
				l.Index = len(rs.limits)
				rs.limits = append(rs.limits, l)
				if l.Label = label(r, i); l.Name == "" {
					l.Label = unique(l.Label, taken)
				}
			}
		}
	}
}

// unique makes a label one that is not taken, and takes it.
func unique(label string, taken map[string]bool) string {
	free := label
	for n := 2; taken[free]; n++ {
		free = label + "~" + strconv.Itoa(n)
	}
	taken[free] = true
	return free
}

// keep takes over the rules of an earlier ruleset. They are copied, since the
// limits get new numbers.
func (d *Domain) keep(last *Domain) {
	d.Kept = true
	d.fallback, d.defaults = last.fallback, last.defaults
	d.root = last.root.copy(make(map[*node]*node))
}

// copy copies a node and all below it; copies has the new one of each.
func (n *node) copy(copies map[*node]*node) *node {
	c := &node{many: n.many}
	copies[n] = c
	if n.rule != nil {
		c.rule = n.rule.copy()
	}
	for _, child := range n.children {
		c.children = append(c.children, child.copy(copies))
	}
	if n.keys != nil {
		c.keys = make(map[string]*choices, len(n.keys))
	}
	for key, level := range n.keys {
		c.keys[key] = level.copy(copies)
	}
	return c
}

func (c *choices) copy(copies map[*node]*node) *choices {
	out := &choices{patterns: slices.Clone(c.patterns), regexes: slices.Clone(c.regexes), any: copies[c.any]}
	if c.exact != nil {
		out.exact = make(map[string]*node, len(c.exact))
	}
	for value, n := range c.exact {
		out.exact[value] = copies[n]
	}
	for i := range out.patterns {
		out.patterns[i].node = copies[out.patterns[i].node]
	}
	for i := range out.regexes {
		out.regexes[i].node = copies[out.regexes[i].node]
	}
	if c.networks != nil {
		out.networks = &networks{nodes: make(map[netip.Prefix]*node, len(c.networks.nodes)), v4: c.networks.v4, v6: c.networks.v6}
		for prefix, n := range c.networks.nodes {
			out.networks.nodes[prefix] = copies[n]
		}
	}
	return out
}

func (r *Rule) copy() *Rule {
	c := *r
	c.Limits = make([]*Limit, len(r.Limits))
	for i, l := range r.Limits {
		limit := *l
		limit.Rule = &c
		c.Limits[i] = &limit
	}
	return &c
}

// DefaultLimit is what an override of a domain is applied to where no rule
// matches: algorithm and policies by default, and no amount of its own.
func (rs *Ruleset) DefaultLimit(d *Domain) *Limit { return d.override }

func overrideTemplate(opt Options) *Limit {
	return &Limit{
		Bucket:       buckets.Limit{Algorithm: opt.algorithm(), Unbounded: opt.Unbounded},
		Multiplier:   1,
		DeniedHits:   opt.DeniedHits,
		OnStoreError: opt.OnStoreError,
		Index:        -1,
		Label:        overrideLabel,
	}
}
